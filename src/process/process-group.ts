import { constants, getPriority, setPriority } from 'node:os';
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

/** Nice values of a process while it starts, and of one for one session where it cannot be set back. */
const STARTING = 10;
const STAYS = 5;

/** Whether this system lets a process be set back to the priority of its parent, which most do for root alone. */
let canSetBack: boolean | undefined;

/**
 * Lowers the priority of a process while it starts, so that the server and running sessions go first.
 * Where the system does not let it be set back, a process for one session keeps a small part of it, and a host none.
 *
 * @returns sets the priority back. Never throws: a process may be gone.
 */
export function lowerPriority(pid: number, kind: 'session' | 'host'): () => void {
  const own = priorityOf(0);
  if (own === undefined) return () => {};
  if (canSetBack === false) {
    if (kind === 'session') set(pid, own + STAYS);
    return () => {};
  }
  // The first one shows whether it can be set back; it stays at the small value where it cannot.
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
