import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toVariableDigests } from '../player/variable-digests.ts';

/**
 * Loaded into an environment's process before its code. At SIGUSR2 it writes a file with the counts of open resources
 * by kind, and with digests of the current variables.
 */
const folder = process.env.CHECK_PROBE_FOLDER;
let reports = 0;

if (folder !== undefined && (process.env.PROCTOR_HOST_FD ?? process.env.PROCTOR_PROTOCOL_FD) !== undefined) {
  if (isFirst(folder)) listen(folder);
}

/**
 * True for the first process that is alive. Child processes and threads inherit the variables but are not probed. A
 * process that only reported its session limit has ended before the session's process starts, which then takes its
 * place.
 */
function isFirst(folder: string): boolean {
  const path = join(folder, 'pid');
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch {
    if (isAlive(Number(readFileSync(path, 'utf8')))) return false;
    writeFileSync(path, String(process.pid));
    return true;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function listen(folder: string): void {
  process.on('SIGUSR2', () => {
    const counts: Record<string, number> = {};
    for (const kind of process.getActiveResourcesInfo()) counts[kind] = (counts[kind] ?? 0) + 1;
    const listeners = process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);
    reports += 1;
    const report = {
      counts: { ...counts, 'process listener': listeners },
      variables: toVariableDigests(process.env, folder),
    };
    const path = join(folder, `report-${reports}.json`);
    writeFileSync(`${path}.part`, JSON.stringify(report), { mode: 0o600 });
    renameSync(`${path}.part`, path);
  });
}
