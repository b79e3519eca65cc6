import { readdirSync, readFileSync } from 'node:fs';

export interface TreeUse {
  /** Processes with their own memory: without the pages of programs and files that they map. */
  readonly processes: readonly { readonly pid: number; readonly bytes: number }[];
  readonly memoryBytes: number;
}

/** Use of the processes of a table such as `/proc`, or of some of them. */
export function measureProcesses(table: string, pids: readonly number[] = pidsIn(table)): TreeUse {
  const processes = pids.map((pid) => {
    const status = read(`${table}/${pid}/status`);
    return { pid, bytes: (kilobytes(status, 'RssAnon') + kilobytes(status, 'RssShmem')) * 1_024 };
  });
  return { processes, memoryBytes: processes.reduce((sum, { bytes }) => sum + bytes, 0) };
}

function pidsIn(table: string): readonly number[] {
  try {
    return readdirSync(table).flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    return []; // The sandbox has ended.
  }
}

function kilobytes(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s*(\\d+)`, 'm').exec(status)?.[1] ?? 0);
}

/** Processes end while they are measured. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
