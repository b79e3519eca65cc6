import { execFileSync } from 'node:child_process';

/** True while a process runs; a zombie, which nobody has to wait for but its own parent, does not. */
export function isRunning(pid: number): boolean {
  try {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return state !== '' && !state.startsWith('Z');
  } catch {
    return false;
  }
}

/** The processes whose command line holds `text`. */
export function processesNamed(text: string): number[] {
  const lines = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,stat=,command='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const [, pid, state, command] = /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    return command?.includes(text) && !state?.startsWith('Z') ? [Number(pid)] : [];
  });
}
