import { setTimeout as sleep } from 'node:timers/promises';
import { SHUTDOWN_GRACE_MS } from '../contract/names.ts';
import { isThere, type OwnProcess, processNamespace, readOwnProcesses } from './process-table.ts';
import { endCgroupsOf } from './run-cgroup.ts';
import { type MarkOwner, ownersIn } from './run-mark.ts';
import { WATCHDOG_NAME } from './watchdog.ts';

/** How often it is looked whether they have ended, in milliseconds. */
const LOOK_EVERY_MS = 100;
/** How often those that do not end are killed: what they start meanwhile is found by the next look. */
const MAX_KILLS = 20;

/**
 * Ends what processes of ours left behind that were killed together with their watchdogs: SIGTERM, so that shutdown hooks
 * run, and SIGKILL when the budget of an environment is over, or at once when the signal is aborted. Processes of this user
 * alone, whose marks all tell of owners that are gone, with nobody who watches for them; what belongs to a living process,
 * to another container, or to a run within a run that lives, is left alone. Linux alone: elsewhere nobody is found.
 *
 * @returns how many processes there were. Never rejects.
 */
export async function endOrphans(signal: AbortSignal): Promise<number> {
  const found = new Set<number>();
  const endsAt = performance.now() + SHUTDOWN_GRACE_MS.environment;
  for (let left = findOrphans(); left.length > 0; left = findOrphans()) {
    if (performance.now() >= endsAt || signal.aborted) break;
    for (const pid of left) if (!found.has(pid)) end(pid, 'SIGTERM');
    for (const pid of left) found.add(pid);
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  for (let round = 0, left = findOrphans(); left.length > 0 && round < MAX_KILLS; round++, left = findOrphans()) {
    for (const pid of left) end(pid, 'SIGKILL');
    for (const pid of left) found.add(pid);
    await sleep(LOOK_EVERY_MS);
  }
  const isOrphaned = orphanedAmong(readOwnProcesses());
  endCgroupsOf((name) => ownersIn(name).some(isOrphaned));
  return found.size;
}

function findOrphans(): readonly number[] {
  const processes = readOwnProcesses();
  const isOrphaned = orphanedAmong(processes);
  return processes.flatMap(({ pid, marks }) => {
    const owners = ownersIn(marks);
    return pid !== process.pid && owners.length > 0 && owners.every(isOrphaned) ? [pid] : [];
  });
}

/** Owners that are gone together with their watchdog. Processes of another pid namespace are unknown here. */
function orphanedAmong(processes: readonly OwnProcess[]): (owner: MarkOwner) => boolean {
  const watchdogs = processes.filter(({ command }) => command.includes(`\0${WATCHDOG_NAME}\0`));
  const watched = new Set(watchdogs.flatMap(({ command }) => ownersIn(command).map(({ mark }) => mark)));
  const here = processNamespace();
  return ({ mark, pid, startedAt, namespace }) => namespace === here && !watched.has(mark) && !isThere(pid, startedAt);
}

function end(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended by itself meanwhile.
  }
}
