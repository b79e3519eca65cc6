import { execFileSync } from 'node:child_process';

/** The processes of environments that a command has started and that still run. */
export function environmentsOf(parent: number | undefined): number[] {
  const lines = execFileSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,stat=,command='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const [, pid, ppid, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [];
    const isOurs = Number(ppid) === parent && command?.includes('environment-main.js') && !state?.startsWith('Z');
    return isOurs ? [Number(pid)] : [];
  });
}
