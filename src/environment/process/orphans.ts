import { SHUTDOWN_GRACE_MS } from '../../contract/names.ts';
import { sleep } from '../../support/runtime/backoff.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { isThere, type OwnProcess, processNamespace, readOwnProcesses } from './process-table.ts';
import { endCgroupsOf } from './run-cgroup.ts';
import { type MarkOwner, ownersIn } from './run-mark.ts';
import { WATCHDOG_NAME } from './watchdog.ts';

/** Maximum number of rounds of SIGKILL. Processes that start meanwhile are found in the next round. */
const MAX_KILLS = 20;

/**
 * Ends processes that were left behind when Proctor and its watchdog were killed: with SIGTERM, so that shutdown hooks
 * run, and with SIGKILL after an environment's time limit, or at once if the signal is aborted. It ends only processes
 * of this user whose marks all name owners without a living process and without a watchdog. Processes of living owners
 * and of other containers are not touched. Works on Linux only.
 *
 * @returns the number of processes that were found. Never rejects.
 */
export async function endOrphans(signal: AbortSignal): Promise<number> {
  const found = new Set<number>();
  const endsAt = performance.now() + SHUTDOWN_GRACE_MS.environment;
  for (let left = findOrphans(); left.length > 0; left = findOrphans()) {
    if (performance.now() >= endsAt || signal.aborted) break;
    for (const pid of left) if (!found.has(pid)) end(pid, 'SIGTERM');
    for (const pid of left) found.add(pid);
    await sleep(PERIODS_MS.leftProcesses, signal).catch(() => {});
  }
  for (let round = 0, left = findOrphans(); left.length > 0 && round < MAX_KILLS; round++, left = findOrphans()) {
    for (const pid of left) end(pid, 'SIGKILL');
    for (const pid of left) found.add(pid);
    await sleep(PERIODS_MS.leftProcesses);
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

/**
 * True for owners that have ended together with their watchdog. Processes of another pid namespace cannot be checked.
 */
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
    // The process has ended by itself meanwhile.
  }
}
