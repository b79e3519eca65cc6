import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { PROCESS_VARIABLES } from '../../contract/names.ts';

/** A process of this machine from Linux's `/proc`. Other systems have no such table. */
export interface ProcessRow {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** Start time in clock ticks since the machine started. It tells a process from a later one with the same id. */
  readonly startedAt: string;
  /** Memory in bytes, including shared memory. */
  readonly residentBytes: number;
}

/** Bytes of a page. If a system has larger pages, the result is too small. */
const PAGE_BYTES = 4_096;
/** Positions of the fields in `/proc/<pid>/stat`, counted after the name. */
const STAT = { state: 0, parent: 1, group: 2, startedAt: 19, residentPages: 21 } as const;

/** All visible processes. Empty without `/proc`. */
export function readProcesses(): readonly ProcessRow[] {
  return listPids().flatMap((pid) => readProcess(pid) ?? []);
}

/** A process. Undefined if it has ended, and without `/proc`. */
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

/** Start time of a process. Undefined if it has ended, and without `/proc`. */
export function startOf(pid: number): string | undefined {
  return readStat(pid)?.[STAT.startedAt];
}

/** True if a process with this id and start time exists and is not a zombie. */
export function isThere(pid: number, startedAt: string): boolean {
  const fields = readStat(pid);
  return fields?.[STAT.startedAt] === startedAt && fields[STAT.state] !== 'Z' && fields[STAT.state] !== 'X';
}

/**
 * Id of the pid namespace. Process ids are unique only within it, and each container has its own. Undefined without
 * `/proc`.
 */
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
  /** The value of `PROCTOR_RUN`. Empty if the process has no such variable. */
  readonly marks: string;
}

/** The processes of this user. Empty without `/proc`. */
export function readOwnProcesses(): readonly OwnProcess[] {
  const user = process.getuid?.();
  return listPids().flatMap((pid) => {
    if (userOf(pid) !== user) return [];
    const marks = startVariables(pid)
      .split('\0')
      .find((variable) => variable.startsWith(`${PROCESS_VARIABLES.run}=`));
    return [{ pid, command: readText(`/proc/${pid}/cmdline`) ?? '', marks: marks ?? '' }];
  });
}

/**
 * The variables that a process was started with, as one text. Empty if they contain no mark, and for processes of other
 * users.
 */
export function markedVariables(pid: number): string {
  const variables = startVariables(pid);
  return variables.includes(`${PROCESS_VARIABLES.run}=`) ? variables : '';
}

/**
 * The variables that a process was started with, as one text with a zero byte after each. Empty for processes of other
 * users.
 */
export function startVariables(pid: number): string {
  return readText(`/proc/${pid}/environ`) ?? '';
}

/** Ids of the processes that have the mark. */
export function findMarked(mark: string): readonly number[] {
  return listPids().filter((pid) => pid !== process.pid && markedVariables(pid).includes(mark));
}

/** Memory of a process with its share of shared pages (PSS), in bytes. Undefined if the system does not report it. */
export function proportionalBytes(pid: number): number | undefined {
  const kilobytes = /^Pss:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/smaps_rollup`) ?? '')?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
}

/** Ids of the visible processes. Empty without `/proc`. */
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
    return undefined; // The process has ended.
  }
}

/** The fields after the name. The name may contain spaces and brackets. */
function readStat(pid: number): readonly string[] | undefined {
  const text = process.platform === 'linux' ? readText(`/proc/${pid}/stat`) : undefined;
  return text?.slice(text.lastIndexOf(')') + 2).split(' ');
}

/** Undefined if the process has ended or belongs to another user. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
