import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { enqueueForgottenRuns } from '../../../src/service/runs/worker/sweep.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { openBullQueue } from '../../../src/store/queue/bullmq-queue.ts';
import { createDatabaseQueue } from '../../../src/store/queue/database-queue.ts';
import { openQueue } from '../../../src/store/queue/open-queue.ts';
import { sharedPostgres } from '../../postgres.ts';
import { findRedisServer, startRedis } from '../../redis.ts';
import { openParts, startService, temporaryDirectory, traceIdOf } from '../../service/runs/service.ts';
import { finished, newTrace, started, upTo } from '../traces/events.ts';

it.skipIf(findRedisServer() === undefined)(
  'a queue whose Redis forgot everything is rebuilt from the rows',
  async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const { database, store } = await openParts();
    const queue = await openBullQueue({ url: redis.url, database });
    onTestFinished(() => queue.close());
    const traces = upTo(30).map((index) => newTrace({ priority: index % 10 }));
    for (const { traceId, ...trace } of traces) {
      await store.create({ traceId, ...trace }, (transaction) =>
        queue.enqueue({ traceId, priority: trace.queued.priority }, transaction),
      );
    }
    const held = (await queue.lease('worker-1'))[0];
    const done = (await queue.lease('worker-1'))[0];
    if (held === undefined || done === undefined) throw new Error('two entries are expected');
    await store.append(done.traceId, 1, [started, finished()]);
    await queue.complete(done);

    await redis.flush();
    expect(await queue.counts()).toEqual({ waiting: 0, leased: 0 });
    expect(await queue.renew([held])).toEqual([held]);
    expect(await enqueueForgottenRuns(database, queue)).toBe(29);
    expect(await enqueueForgottenRuns(database, queue)).toBe(0);
    const again: string[] = [];
    let lastPriority = 9;
    for (
      let lease = (await queue.lease('worker-2'))[0];
      lease !== undefined;
      lease = (await queue.lease('worker-2'))[0]
    ) {
      const { traceId } = lease;
      const priority = traces.find((trace) => trace.traceId === traceId)?.queued.priority ?? -1;
      expect(priority).toBeLessThanOrEqual(lastPriority);
      lastPriority = priority;
      again.push(traceId);
    }
    expect(again.sort()).toEqual(
      traces
        .map(({ traceId }) => traceId)
        .filter((id) => id !== done.traceId)
        .sort(),
    );
  },
);

const STORES: Readonly<Record<string, () => Promise<{ readonly database: string; readonly queue?: string }>>> = {
  'a SQLite file': async () => ({ database: `sqlite:${join(temporaryDirectory(), 'proctor.db')}` }),
  Postgres: async () => ({ database: await (await sharedPostgres()).createDatabase() }),
  ...(findRedisServer() === undefined
    ? {}
    : {
        async 'Postgres, with the queue on Redis'() {
          const redis = await startRedis();
          onTestFinished(() => redis.close());
          return { database: await (await sharedPostgres()).createDatabase(), queue: redis.url };
        },
      }),
};

it.each(Object.entries(STORES))(
  'two services on %s finish every run once',
  { timeout: 120_000 },
  async (_, addresses) => {
    const { database: url, queue: queueUrl } = await addresses();
    const startOne = async () => {
      const parts = await openParts(url);
      const queue = await openQueue(queueUrl, parts.database);
      onTestFinished(() => queue.close());
      return await startService({ parts: { ...parts, queue } });
    };
    const services = [await startOne(), await startOne()];
    const replies = await Promise.all(upTo(20).flatMap(() => services.map((service) => service.run())));
    const traceIds = replies.map(traceIdOf);
    expect(new Set(traceIds).size).toBe(40);
    for (const traceId of traceIds) {
      const trace = await services[0]?.ended(traceId);
      expect(trace).toMatchObject({ status: 'completed', reward: 1, attempt: 1 });
    }
  },
);

it.each([
  [10_000, 'SQLite'],
  [2_000, 'Postgres'],
] as const)(
  '%i runs that were accepted on %s while no worker was up are all there for one',
  {
    timeout: 240_000,
  },
  async (count, kind) => {
    const url =
      kind === 'SQLite'
        ? `sqlite:${join(temporaryDirectory(), 'proctor.db')}`
        : await (await sharedPostgres()).createDatabase();
    const { database, store } = await openParts(url);
    const accepting = createDatabaseQueue(database);
    const accepted: string[] = [];
    for (let batch = 0; batch < count / 100; batch++) {
      const traces = upTo(100).map(() => newTrace({ priority: batch % 10 }));
      const create = ({ traceId, ...trace }: (typeof traces)[number]) =>
        store.create({ traceId, ...trace }, (transaction) =>
          accepting.enqueue({ traceId, priority: trace.queued.priority }, transaction),
        );
      await Promise.all(traces.map(create));
      accepted.push(...traces.map(({ traceId }) => traceId));
    }
    const second = await openDatabase(url);
    onTestFinished(() => second.close());
    const queue = createDatabaseQueue(second);
    expect(await queue.counts()).toEqual({ waiting: count, leased: 0 });
    expect(await enqueueForgottenRuns(second, queue)).toBe(0);
    const taken: string[] = [];
    const work = async () => {
      for (
        let lease = (await queue.lease('worker-1'))[0];
        lease !== undefined;
        lease = (await queue.lease('worker-1'))[0]
      ) {
        taken.push(lease.traceId);
        await queue.complete(lease);
      }
    };
    await Promise.all(upTo(4).map(work));
    expect(taken.sort()).toEqual(accepted.sort());
    expect(await queue.counts()).toEqual({ waiting: 0, leased: 0 });
  },
);
