import { describe, expect, it, onTestFinished } from 'vitest';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import { endOrphans } from '../../../src/environment/process/orphans.ts';
import { until } from '../../until.ts';
import { isRunning } from '../client/processes.ts';
import { CLINGING, orphanEnvironment } from './orphan.ts';

describe.skipIf(process.platform !== 'linux')('what a process left behind that was killed with its watchdog', () => {
  it('is ended by the next one; what belongs to a living process is left alone', { timeout: 60_000 }, async () => {
    const client = await connectEnvironment({ kind: 'module', path: CLINGING });
    onTestFinished(() => client.close());
    const living = (await client.call('cling', {})).structured_content?.pids as number[];
    const orphans = await orphanEnvironment();
    expect(orphans.filter(isRunning)).toEqual(orphans);
    expect(await endOrphans(new AbortController().signal)).toBeGreaterThanOrEqual(orphans.length);
    await until(() => !orphans.some(isRunning));
    expect(living.filter(isRunning)).toEqual(living);
  });

  it('is killed at once where there is no time', { timeout: 60_000 }, async () => {
    const orphans = await orphanEnvironment();
    await endOrphans(AbortSignal.abort());
    await until(() => !orphans.some(isRunning));
  });

  it('is left to a watchdog that lives, which gives it time to end by itself', { timeout: 60_000 }, async () => {
    // The one that left its group, so that the watchdog does not reach it at once.
    const left = (await orphanEnvironment({ isWatched: true })).slice(1, 2);
    expect(left.filter(isRunning)).toEqual(left);
    await endOrphans(AbortSignal.abort());
    expect(left.filter(isRunning)).toEqual(left);
    await until(() => !left.some(isRunning));
  });
});
