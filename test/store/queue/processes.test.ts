import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { openQueue } from '../../../src/store/queue/open-queue.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { sharedPostgres } from '../../postgres.ts';
import { Script } from '../../processes.ts';
import { findRedisServer, sharedRedis } from '../../redis.ts';
import { newTrace, seqs, upTo } from '../traces/events.ts';

/** Workers in all. */
const WORKERS = 8;

interface Addresses {
  readonly entries: number;
  readonly processes: number;
  readonly database: string;
  /** Undefined: in the database. */
  readonly queue: string | undefined;
}

const QUEUES: Readonly<Record<string, () => Promise<Addresses>>> = {
  async 'a SQLite file'() {
    const folder = await mkdtemp(join(tmpdir(), 'proctor-queue-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    return { entries: 500, processes: 4, database: `sqlite:${join(folder, 'proctor.db')}`, queue: undefined };
  },
  async Postgres() {
    return { entries: 500, processes: 4, database: await (await sharedPostgres()).createDatabase(), queue: undefined };
  },
  ...(findRedisServer() === undefined
    ? {}
    : {
        async 'BullMQ on Redis'() {
          const redis = await sharedRedis();
          await redis.flush();
          return {
            entries: 150,
            processes: 2,
            database: await (await sharedPostgres()).createDatabase(),
            queue: redis.url,
          };
        },
      }),
};

describe.each(Object.entries(QUEUES))('workers of several processes on %s', { timeout: 240_000 }, (_, addresses) => {
  it('take each of hundreds of entries once, and those of a killed one again', async () => {
    const { database: url, queue: queueUrl, entries, processes } = await addresses();
    const database = await openDatabase(url);
    onTestFinished(() => database.close());
    const queue = await openQueue(queueUrl, database);
    onTestFinished(() => queue.close());
    const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });

    const start = (name: string, loops: number, hangs: string) => {
      const script = new URL('fixtures/worker.ts', import.meta.url);
      return new Script(script, [url, queueUrl ?? '', name, `${entries}`, `${loops}`, hangs]);
    };
    const workers = upTo(processes).map((index) => start(`worker-${index}`, WORKERS / processes, ''));
    const doomed = start('doomed', 1, 'hangs');
    await Promise.all([...workers, doomed].map((worker) => worker.said(1)));

    const traces = upTo(entries).map(() => newTrace());
    const create = (trace: (typeof traces)[number]) =>
      store.create(trace, (transaction) => queue.enqueue({ traceId: trace.traceId, priority: 0 }, transaction));
    for (let from = 0; from < entries; from += 50) await Promise.all(traces.slice(from, from + 50).map(create));

    await doomed.said(1 + 5 + 4); // its fifth is the last that it took
    const killed = await doomed.kill();
    const lines = [...killed, ...(await Promise.all(workers.map((worker) => worker.end()))).flat()];
    const done = lines.filter((line) => line.startsWith('did ')).map((line) => line.slice('did '.length));
    expect(done.sort()).toEqual(traces.map(({ traceId }) => traceId).sort());
    const held = killed.at(-1)?.slice('took '.length);
    for (const { traceId } of traces) {
      const events = await store.events(traceId);
      expect(seqs(events)).toEqual(upTo(events.length));
      const ends = events.filter(({ type }) => type === 'run.finished');
      expect(ends).toEqual([events.at(-1)]);
      const attempts = events.filter(({ type }) => type === 'run.queued').length;
      expect(await store.row(traceId)).toMatchObject({ status: 'completed', attempt: attempts });
      if (traceId === held) expect(attempts).toBe(2);
    }
    expect(await queue.counts()).toEqual({ waiting: 0, leased: 0 });
  });
});
