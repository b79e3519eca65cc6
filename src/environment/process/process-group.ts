import { constants, getPriority, setPriority } from 'node:os';
import { killMarked, OWN_MARK } from './run-mark.ts';
import { stopWatching, unwatchGroup, watchGroup } from './watchdog.ts';

/** Leader ids of the process groups that this process started and must end when it exits. */
const groups = new Set<number>();

/** Ends the group when this process ends, even by SIGKILL. The caller has to remove the group again. */
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

/** Signals every process of a group. Does nothing if the group has ended. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // ESRCH: the group has ended. EPERM: macOS reports this for a group of zombies.
  }
}

function killAll(): void {
  for (const leader of groups) signalGroup(leader, 'SIGKILL');
  killMarked(OWN_MARK);
  stopWatching();
}

/** Additional nice values: while a process starts, and for a process of one session if it cannot be set back. */
const STARTING = 10;
const STAYS = 5;

/** True if this system lets a process return to its parent's priority. Most systems allow this only for root. */
let canSetBack: boolean | undefined;

/**
 * Lowers the priority of a process while it starts, so that the server and running sessions go first. If the system
 * does not allow setting it back, a process for one session keeps a slightly lower priority, and a host keeps the
 * normal one.
 *
 * @returns a function that sets the priority back. Never throws, because the process may have ended.
 */
export function lowerPriority(pid: number, kind: 'session' | 'host'): () => void {
  const own = priorityOf(0);
  if (own === undefined) return () => {};
  if (canSetBack === false) {
    if (kind === 'session') set(pid, own + STAYS);
    return () => {};
  }
  // The first process shows whether the priority can be set back. If not, it keeps the small value.
  if (canSetBack === undefined) {
    canSetBack = set(pid, own + STAYS) && set(pid, own);
    if (!canSetBack) return () => {};
  }
  set(pid, own + STARTING);
  return () => void set(pid, own);
}

function set(pid: number, priority: number): boolean {
  try {
    setPriority(pid, Math.min(constants.priority.PRIORITY_LOW, priority));
    return true;
  } catch {
    return false;
  }
}

function priorityOf(pid: number): number | undefined {
  try {
    return getPriority(pid);
  } catch {
    return undefined;
  }
}
