import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Loaded into a host of an environment before its code: at SIGUSR2 it writes what keeps its process busy into a file, as
 * counts by kind.
 */
const folder = process.env.CHECK_PROBE_FOLDER;
let reports = 0;

// Processes that the environment starts have the variable too, and are not asked.
if (folder !== undefined && process.env.PROCTOR_HOST_FD !== undefined) {
  process.on('SIGUSR2', () => {
    const counts: Record<string, number> = {};
    for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
    const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
    reports += 1;
    const path = join(folder, `report-${reports}.json`);
    writeFileSync(`${path}.part`, JSON.stringify({ ...counts, 'process listener': listeners }));
    renameSync(`${path}.part`, path);
  });
}
