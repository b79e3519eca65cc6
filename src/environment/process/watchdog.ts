import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { startOf } from './process-table.ts';
import { CGROUP_PREFIX, cgroupRoot } from './run-cgroup.ts';
import { OWN_MARK } from './run-mark.ts';

/** Process name of a watchdog; the mark of the watched process follows. */
export const WATCHDOG_NAME = 'proctor-watchdog';

/** Seconds: the grace period of an environment, and half a second more for a slow machine. */
const KILL_AFTER_S = (SHUTDOWN_GRACE_MS.environment + 500) / 1_000;

/**
 * The watchdog reads `+ <leader> <its start>` and `- <leader>` until its input ends, because the process at the other
 * end has ended. Then it ends the remaining groups: SIGTERM, so that shutdown hooks run, and SIGKILL after the grace
 * period. If a leader's id belongs to another process by then, the start time differs and that process is not touched.
 * On Linux, it then ends the cgroups and kills all processes with the mark of the ended process.
 */
export const WATCHDOG_SCRIPT = `
trap '' HUP INT TERM
mark=$1
leaders=' '
while read -r change leader start; do
  case $change in
    +) leaders="$leaders$leader:$start " ;;
    -) rest=' '
       for each in $leaders; do [ "\${each%%:*}" = "$leader" ] || rest="$rest$each "; done
       leaders=$rest ;;
  esac
done
[ "$leaders" = ' ' ] && exit 0
start_of() {
  { read -r line < "/proc/$1/stat"; } 2>/dev/null || return 0
  set -- \${line##*) }
  shift 19
  echo "$1"
}
signal() {
  for each in $leaders; do
    now=$(start_of "\${each%%:*}")
    [ -z "$now" ] || [ "$now" = "\${each#*:}" ] && kill "-$1" "-\${each%%:*}"
  done
}
signal TERM
sleep ${KILL_AFTER_S}
signal KILL
for each in "$2"*/; do
  [ -e "\${each}cgroup.kill" ] || continue
  echo 1 > "\${each}cgroup.kill"
  sleep 0.1
  rmdir "$each"
done
[ -d /proc/self ] || exit 0
for round in 1 2 3 4 5 6 7 8 9 10; do
  left=$(grep -lsF "$mark" /proc/[0-9]*/environ)
  [ -z "$left" ] && exit 0
  for each in $left; do
    each=\${each#/proc/}
    kill -KILL "\${each%/environ}"
  done
  sleep 0.2
done
`;

let watchdog: ChildProcess | undefined;

/**
 * Ends a process group when this process has ended, even by SIGKILL. A separate shell watches, because this process
 * cannot act after SIGKILL, and a child with a blocked event loop does not notice the end of its input.
 */
export function watchGroup(leader: number): void {
  watchdog ??= start();
  watchdog.stdin?.write(`+ ${leader} ${startOf(leader) ?? ''}\n`);
}

/** Stops watching a group, because its id may soon belong to another process. */
export function unwatchGroup(leader: number): void {
  watchdog?.stdin?.write(`- ${leader}\n`);
}

/** Ends the watchdog when there is no process left to watch. */
export function stopWatching(): void {
  watchdog?.kill('SIGKILL');
  watchdog = undefined;
}

/** Prefix of the paths of this process's cgroups. If it has none, a path that does not exist. */
function ownCgroups(): string {
  return join(cgroupRoot() ?? '/nowhere', CGROUP_PREFIX);
}

function start(): ChildProcess {
  const shell = spawn('/bin/sh', ['-c', WATCHDOG_SCRIPT, WATCHDOG_NAME, OWN_MARK, ownCgroups()], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH: process.env.PATH },
  });
  // Without a shell there is no watchdog. A normal exit still ends all processes.
  shell.on('error', () => {});
  shell.stdin?.on('error', () => {});
  shell.unref();
  (shell.stdin as Socket | null)?.unref(); // In Node.js the pipes of `spawn` are sockets.
  return shell;
}
