import { readdirSync, readFileSync } from 'node:fs';
import { PROCESS_VARIABLES } from '../contract/names.ts';

/** A process of this machine, as Linux shows it under `/proc`. Elsewhere there is no such table, and it is empty. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Ticks since the machine was started: with it a number that was given to another process is told apart. */
  readonly startedAt: string;
  /** Memory that it holds, shared memory included. */
  readonly residentBytes: number;
}

/** Pages are 4 KiB on x86-64 and on most of the others; where they are larger, less memory is counted than is held. */
const PAGE_BYTES = 4_096;
/** Positions in `/proc/<pid>/stat`, counted from after the name. */
const STAT = { parent: 1, group: 2, startedAt: 19, residentPages: 21 } as const;

/** Every process that can be seen; empty where there is no `/proc`. */
export function readProcesses(): readonly ProcessRow[] {
  return listPids().flatMap((pid) => {
    const fields = readStat(pid);
    if (fields === undefined) return [];
    return [
      {
        pid,
        parent: Number(fields[STAT.parent]),
        group: Number(fields[STAT.group]),
        startedAt: fields[STAT.startedAt] ?? '',
        residentBytes: Number(fields[STAT.residentPages]) * PAGE_BYTES,
      },
    ];
  });
}

/** When a process was started; undefined for one that is gone, and where there is no `/proc`. */
export function startOf(pid: number): string | undefined {
  return readStat(pid)?.[STAT.startedAt];
}

/** True for a process that was started with the mark, or by one that was. Other users' processes show nothing. */
export function isMarked(pid: number, mark: string): boolean {
  const variables = readText(`/proc/${pid}/environ`) ?? '';
  return variables.includes(mark) && variables.includes(`${PROCESS_VARIABLES.run}=`);
}

/** The processes that have the mark. */
export function findMarked(mark: string): readonly number[] {
  return listPids().filter((pid) => pid !== process.pid && isMarked(pid, mark));
}

/** What a process holds, its share of what it shares alone; undefined where the system does not say. */
export function proportionalBytes(pid: number): number | undefined {
  const kilobytes = /^Pss:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/smaps_rollup`) ?? '')?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
}

function listPids(): readonly number[] {
  if (process.platform !== 'linux') return [];
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

/** The fields after the name, which may hold spaces and brackets itself. */
function readStat(pid: number): readonly string[] | undefined {
  const text = process.platform === 'linux' ? readText(`/proc/${pid}/stat`) : undefined;
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** A process may be gone, or another user's. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
