import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/database/sqlite.ts';
import { createDatabaseQueue } from '../../src/queue/database-queue.ts';
import { createTraceStore } from '../../src/trace/database-store.ts';
import { Script } from '../processes.ts';
import { newTrace } from '../trace/events.ts';
import { describeRunQueue } from './queue-contract.ts';

let folder: string;
let url: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-queue-'));
  url = `sqlite:${join(folder, 'proctor.db')}`;
});
afterEach(async () => rm(folder, { recursive: true }));

describeRunQueue('SQLite', async () => {
  const [database, second] = [await openDatabase(url), await openDatabase(url)];
  const clock = { now: Date.parse('2026-01-01T00:00:00.000Z') };
  const options = { now: () => clock.now };
  return {
    queue: createDatabaseQueue(database, options),
    other: createDatabaseQueue(second, options),
    database,
    clock,
    async close() {
      await second.close();
      await database.close();
    },
  };
});

describe('two processes on one queue', { timeout: 120_000 }, () => {
  it('take each entry once, and write each trace whole', async () => {
    const workers = ['a', 'b'].map((name) => {
      return new Script(new URL('fixtures/worker.ts', import.meta.url), [url, name, '60']);
    });
    await Promise.all(workers.map((worker) => worker.said(1)));
    const database = await openDatabase(url);
    const queue = createDatabaseQueue(database);
    const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
    const traces = Array.from({ length: 60 }, () => newTrace());
    for (const trace of traces) {
      await store.create(trace, (transaction) => queue.enqueue({ traceId: trace.traceId, priority: 0 }, transaction));
    }
    const taken = (await Promise.all(workers.map((worker) => worker.end()))).flatMap((lines) => lines.slice(1));
    expect(taken.sort()).toEqual(traces.map(({ traceId }) => traceId).sort());
    expect(await queue.counts()).toEqual({ waiting: 0, leased: 0 });
    for (const { traceId } of traces) {
      const events = await store.events(traceId);
      expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
      expect(await store.row(traceId)).toMatchObject({ status: 'completed', lastSeq: 8 });
    }
    await database.close();
  });
});
