import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { openQueue } from '../../../src/store/queue/open-queue.ts';
import { sharedPostgres } from '../../postgres.ts';
import { Script } from '../../processes.ts';
import { findRedisServer, sharedRedis } from '../../redis.ts';
import { upTo } from '../../store/traces/events.ts';
import { openParts, startService, temporaryDirectory, traceIdOf } from './service.ts';

const RUNS = 20;
const AT_ONCE = 2;
const CROWD = {
  kind: 'module',
  path: fileURLToPath(new URL('./fixtures/crowd/environment.ts', import.meta.url)),
} as const;

const QUEUES: Readonly<Record<string, () => Promise<string | undefined>>> = {
  'in Postgres': async () => undefined,
  ...(findRedisServer() === undefined ? {} : { 'on Redis': async () => (await sharedRedis()).url }),
};
if (findRedisServer() === undefined) console.warn('skipped: the queue on Redis, since there is no redis-server');

test.for(Object.entries(QUEUES))(
  'a key that may have 2 runs at once never has more over two processes with the queue %s, and all 20 end',
  { timeout: 240_000 },
  async ([, queueOf]) => {
    const databaseUrl = await (await sharedPostgres()).createDatabase();
    const parts = await openParts(databaseUrl);
    const queueUrl = await queueOf();
    const queue = await openQueue(queueUrl, parts.database);
    onTestFinished(() => queue.close());
    const environments = new Map([['crowd', CROWD]]);
    const service = await startService({ parts: { ...parts, queue }, environments, worker: false });
    const { key } = await service.accounts.createKey({ name: 'narrow', concurrentRuns: AT_ONCE });
    const room = temporaryDirectory();
    const asked = { env_name: 'crowd', scenario_name: 'enter', scenario_args: { room } };
    const replies = await Promise.all(upTo(RUNS).map(() => service.run(asked, { authorization: `Bearer ${key}` })));

    const script = new URL('fixtures/worker-process.mjs', import.meta.url);
    const workers = upTo(2).map(() => new Script(script, [databaseUrl, queueUrl ?? '', 'crowd', CROWD.path]));
    await Promise.all(workers.map((worker) => worker.said(1)));
    for (const traceId of replies.map(traceIdOf)) {
      const ended = await service.request(`/v1/traces/${traceId}?wait=120`, {
        headers: { authorization: `Bearer ${key}` },
      });
      expect(ended.json).toMatchObject({ status: 'completed', reward: 1, attempt: 1 });
    }
    const counts = readFileSync(join(room, 'counts'), 'utf8').trim().split('\n').map(Number);
    expect(counts).toHaveLength(RUNS);
    expect(Math.max(...counts)).toBeLessThanOrEqual(AT_ONCE);
    expect(await queue.counts()).toEqual({ waiting: 0, leased: 0 });
  },
);
