import { readdirSync, readFileSync } from 'node:fs';

export interface MarkedProcess {
  readonly pid: number;
  readonly command: string;
}

/** Processes that have `NAME=value` among the variables they were started with, this one left out. On Linux; elsewhere none. */
export function markedProcesses(mark: string): readonly MarkedProcess[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && read(name, 'environ').includes(mark))
    .map((name) => ({ pid: Number(name), command: read(name, 'cmdline') }));
}

function read(pid: string, file: 'environ' | 'cmdline'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1').replaceAll('\0', ' ');
  } catch {
    return ''; // It has ended meanwhile.
  }
}
