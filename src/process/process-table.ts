import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
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
const STAT = { state: 0, parent: 1, group: 2, startedAt: 19, residentPages: 21 } as const;

/** Every process that can be seen; empty where there is no `/proc`. */
export function readProcesses(): readonly ProcessRow[] {
  return listPids().flatMap((pid) => readProcess(pid) ?? []);
}

/** A process; undefined for one that is gone, and where there is no `/proc`. */
export function readProcess(pid: number): ProcessRow | undefined {
  const fields = readStat(pid);
  return (
    fields && {
      pid,
      parent: Number(fields[STAT.parent]),
      group: Number(fields[STAT.group]),
      startedAt: fields[STAT.startedAt] ?? '',
      residentBytes: Number(fields[STAT.residentPages]) * PAGE_BYTES,
    }
  );
}

/** When a process was started; undefined for one that is gone, and where there is no `/proc`. */
export function startOf(pid: number): string | undefined {
  return readStat(pid)?.[STAT.startedAt];
}

/** Whether a process of that number and start is there and no zombie. */
export function isThere(pid: number, startedAt: string): boolean {
  const fields = readStat(pid);
  return fields?.[STAT.startedAt] === startedAt && fields[STAT.state] !== 'Z' && fields[STAT.state] !== 'X';
}

/** In which process numbers are what they are here: containers of one machine have one each. Undefined where there is no `/proc`. */
export function processNamespace(): string | undefined {
  try {
    return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0];
  } catch {
    return undefined;
  }
}

/** A process of this user. */
export interface OwnProcess {
  readonly pid: number;
  readonly command: string;
  /** The value of `PROCTOR_RUN`; empty where it was started without. */
  readonly marks: string;
}

/** The processes of this user; empty where there is no `/proc`. */
export function readOwnProcesses(): readonly OwnProcess[] {
  const user = process.getuid?.();
  return listPids().flatMap((pid) => {
    if (userOf(pid) !== user) return [];
    const variables = readText(`/proc/${pid}/environ`) ?? '';
    const marks = variables.split('\0').find((variable) => variable.startsWith(`${PROCESS_VARIABLES.run}=`));
    return [{ pid, command: readText(`/proc/${pid}/cmdline`) ?? '', marks: marks ?? '' }];
  });
}

/**
 * The variables that a process was started with, as one text; empty where no mark is among them. Other users' processes
 * show nothing.
 */
export function markedVariables(pid: number): string {
  const variables = readText(`/proc/${pid}/environ`) ?? '';
  return variables.includes(`${PROCESS_VARIABLES.run}=`) ? variables : '';
}

/** The processes that have the mark. */
export function findMarked(mark: string): readonly number[] {
  return listPids().filter((pid) => pid !== process.pid && markedVariables(pid).includes(mark));
}

/** Memory of a process with its share of shared pages (PSS), in bytes; undefined if the system does not tell. */
export function proportionalBytes(pid: number): number | undefined {
  const kilobytes = /^Pss:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/smaps_rollup`) ?? '')?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
}

/** Numbers of the processes that can be seen; empty where there is no `/proc`. */
export function listPids(): readonly number[] {
  if (process.platform !== 'linux') return [];
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return [];
  }
}

function userOf(pid: number): number | undefined {
  try {
    return statSync(`/proc/${pid}`).uid;
  } catch {
    return undefined; // It is gone.
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
