import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { SHUTDOWN_GRACE_MS } from '../contract/names.ts';

/** What the environment has to end by itself, and half a second for the machine. */
const KILL_AFTER_S = (SHUTDOWN_GRACE_MS.environment + 500) / 1_000;

/**
 * Reads `+ <leader>` and `- <leader>` until its input ends, which is when the process that holds the other end is gone;
 * then it ends the groups that are left: SIGTERM, so that shutdown hooks run, and SIGKILL after the budget.
 */
const SCRIPT = `
trap '' HUP INT TERM
leaders=' '
while read -r change leader; do
  case $change in
    +) leaders="$leaders$leader " ;;
    -) rest=' '
       for each in $leaders; do [ "$each" = "$leader" ] || rest="$rest$each "; done
       leaders=$rest ;;
  esac
done
[ "$leaders" = ' ' ] && exit 0
for each in $leaders; do kill -TERM "-$each"; done
sleep ${KILL_AFTER_S}
for each in $leaders; do kill -KILL "-$each"; done
`;

let watchdog: ChildProcess | undefined;

/**
 * Ends a process group when this process is gone, however that came: SIGKILL leaves it no time to do so itself, and a
 * process whose event loop is blocked does not see the end of its input. A shell of its own session watches.
 */
export function watchGroup(leader: number): void {
  watchdog ??= start();
  watchdog.stdin?.write(`+ ${leader}\n`);
}

/** Its number may be another's soon. */
export function unwatchGroup(leader: number): void {
  watchdog?.stdin?.write(`- ${leader}\n`);
}

/** Nobody is left to be watched. */
export function stopWatching(): void {
  watchdog?.kill('SIGKILL');
  watchdog = undefined;
}

function start(): ChildProcess {
  const shell = spawn('/bin/sh', ['-c', SCRIPT], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env.PATH },
  });
  // Without a shell there is nobody to watch; what ends in order is ended in order all the same.
  shell.on('error', () => {});
  shell.stdin?.on('error', () => {});
  shell.unref();
  (shell.stdin as Socket | null)?.unref(); // A pipe of `spawn` is a socket.
  return shell;
}
