import { killMarked, OWN_MARK } from './run-mark.ts';
import { stopWatching, unwatchGroup, watchGroup } from './watchdog.ts';

/** Process groups that this process started and has to take with it: leader ids. */
const groups = new Set<number>();

/** From now on the group ends when this process does, also by SIGKILL. Whoever adds it removes it. */
export function addProcessGroup(leader: number): void {
  if (groups.size === 0) process.once('exit', killAll);
  groups.add(leader);
  watchGroup(leader);
}

export function removeProcessGroup(leader: number): void {
  if (!groups.delete(leader)) return;
  unwatchGroup(leader);
  if (groups.size === 0) process.off('exit', killAll);
}

/** Signals every process of a group. A group that is gone is no error. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // ESRCH: nobody is left. EPERM: macOS says so of a group of zombies.
  }
}

function killAll(): void {
  for (const leader of groups) signalGroup(leader, 'SIGKILL');
  killMarked(OWN_MARK);
  stopWatching();
}
