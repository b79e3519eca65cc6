import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { Script } from '../../processes.ts';
import { until } from '../../until.ts';
import { isRunning, processesNamed } from '../client/processes.ts';

export const CLINGING = fileURLToPath(new URL('./fixtures/clinging/environment.ts', import.meta.url));

const pidsSchema = z.array(z.int().min(2)).length(4);

/**
 * The processes that an environment has started whose owner was ended by `kill -9`, and with it, unless it is to watch on,
 * the watchdog; none of them ends by itself. The environment, which has ended, is not among them.
 */
export async function orphanEnvironment({ isWatched = false } = {}): Promise<readonly number[]> {
  const owner = new Script(new URL('./fixtures/clinging-parent.ts', import.meta.url), [CLINGING, 'cling']);
  await owner.said(1);
  const [environment = 0, ...pids] = pidsSchema.parse(JSON.parse(owner.lines[0] ?? ''));
  onTestFinished(() => {
    for (const pid of pids.filter(isRunning)) process.kill(pid, 'SIGKILL');
  });
  const watchdogs = processesNamed(`proctor-watchdog ${owner.pid}_`);
  if (watchdogs.length !== 1) throw new Error(`One watchdog is expected, not ${watchdogs.length}`);
  if (!isWatched) for (const pid of watchdogs) process.kill(pid, 'SIGKILL');
  await owner.kill();
  if (!isWatched) await until(() => !isRunning(environment));
  return pids;
}
