import { CompiledQuery } from 'kysely';
import { expect, test, vi } from 'vitest';
import { createSweep, enqueueForgottenRuns } from '../../../src/service/runs/worker/sweep.ts';
import { createDatabaseQueue } from '../../../src/store/queue/database-queue.ts';
import { sharedPostgres } from '../../postgres.ts';
import { planOf, recording, rowsReadBy, scansOf } from '../../store/database/plans.ts';
import { upTo } from '../../store/traces/events.ts';
import { openParts, type Parts } from './service.ts';

vi.setConfig({ testTimeout: 60_000 });

/** Rows alone, without their entries. */
async function accept({ database }: Parts, count: number, status: string, origin = 'run'): Promise<void> {
  const rows = upTo(count).map((index) => ({
    trace_id: `${status}-${origin}-${String(index).padStart(6, '0')}`,
    account: 'local',
    origin,
    status,
    attempt: 1,
    cancel_requested: 0,
    env_name: 'counter',
    scenario_name: 'count_to',
    model: 'proctor/noop',
    created_at: 0,
    metadata: '{}',
    request: JSON.stringify({ priority: index % 10 }),
    key_id: 'key-1',
  }));
  for (let from = 0; from < rows.length; from += 500) {
    await database.kysely
      .insertInto('traces')
      .values(rows.slice(from, from + 500))
      .execute();
  }
}

test('every run without an end is in the queue after a sweep, as its row says, and nothing else is', async () => {
  const parts = await openParts();
  await accept(parts, 1_200, 'queued');
  await accept(parts, 3, 'running');
  await accept(parts, 5, 'completed');
  await accept(parts, 2, 'running', 'chat');
  expect(await enqueueForgottenRuns(parts.database, parts.queue)).toBe(1_203);
  expect(await enqueueForgottenRuns(parts.database, parts.queue)).toBe(0);
  expect(await parts.queue.counts()).toEqual({ waiting: 1_203, leased: 0 });
  const entries = parts.database.kysely.selectFrom('queue').select(['priority', 'env_name', 'key_id']);
  expect(await entries.where('trace_id', '=', 'queued-run-000017').executeTakeFirst()).toEqual({
    priority: 7,
    env_name: 'counter',
    key_id: 'key-1',
  });
});

test('a sweep that goes on looks at so many runs in each round, and begins anew after the last one', async () => {
  const parts = await openParts();
  await accept(parts, 2_500, 'queued');
  const sweep = createSweep(parts.database, parts.queue, 1);
  expect([await sweep(), await sweep(), await sweep()]).toEqual([1_000, 1_000, 500]);
  await parts.database.kysely.deleteFrom('queue').where('trace_id', '=', 'queued-run-000001').execute();
  expect(await sweep()).toBe(1);
});

test('a sweep reads the runs that have no end and none of the others, on SQLite', async () => {
  const parts = await openParts('sqlite::memory:');
  const { recorded, asked } = recording(parts.database);
  await accept(parts, 5, 'queued');
  await enqueueForgottenRuns(recorded, createDatabaseQueue(recorded));
  expect(asked.length).toBeGreaterThan(2);
  for (const query of asked) expect([query.sql, await scansOf(parts.database, query)]).toEqual([query.sql, []]);
  const [first] = asked;
  const plan = first === undefined ? [] : await planOf(parts.database, first);
  expect(plan[0]).toContain('traces_unfinished');
  // Each is looked for among the open seats, which no worker takes.
  expect(plan.at(-1)).toMatch(/SEARCH seats USING COVERING INDEX/);
});

test('a sweep reads the runs that have no end and none of the others, on Postgres', async () => {
  const parts = await openParts(await (await sharedPostgres()).createDatabase());
  await accept(parts, 5_000, 'completed');
  await accept(parts, 5, 'queued');
  await parts.database.kysely.executeQuery(CompiledQuery.raw('analyze'));
  const { recorded, asked } = recording(parts.database);
  await enqueueForgottenRuns(recorded, createDatabaseQueue(recorded));
  const reads = asked.filter(({ sql }) => sql.startsWith('select'));
  expect(reads.length).toBeGreaterThan(2);
  const rows = await Promise.all(reads.map((query) => rowsReadBy(parts.database, query)));
  expect(rows.reduce((sum, count) => sum + count, 0)).toBeLessThan(100);
});

test('a sweep leaves a seat to its owner', async () => {
  const parts = await openParts();
  await accept(parts, 2, 'running');
  const seat = { account: 'local', secret_hash: 'hash', owner: '{}', seen_at: 0 };
  await parts.database.kysely
    .insertInto('seats')
    .values({ ...seat, trace_id: 'running-run-000001' })
    .execute();
  expect(await enqueueForgottenRuns(parts.database, parts.queue)).toBe(1);
  expect(await parts.database.kysely.selectFrom('queue').select('trace_id').execute()).toEqual([
    { trace_id: 'running-run-000002' },
  ]);
});
