import type { Kysely } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { createDailyFigures } from '../../src/database/daily-figures-table.ts';
import { openDatabase } from '../../src/database/open-database.ts';
import { createServiceTables } from '../../src/database/service-tables.ts';
import { createTraceStore } from '../../src/trace/database-store.ts';
import { finished, newTrace, responded, started, toolResponded } from '../trace/events.ts';

it('the figures and the blobs of traces that are there already are taken over', async () => {
  const database = await openDatabase('sqlite::memory:');
  onTestFinished(() => database.close());
  const store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
  const [done, open] = [newTrace(), newTrace()];
  for (const trace of [done, open]) await store.create(trace);
  const bytes = new Uint8Array(20_000);
  const reference = await store.putBlob(done.traceId, bytes, 'image/png');
  await store.append(done.traceId, 1, [started, responded(1), toolResponded(1, 'a', reference), finished(0.75)]);
  await store.append(open.traceId, 1, [started, toolResponded(1, 'a', `svc-blob://sha256/${'0'.repeat(64)}`)]);
  const [summary, usage] = [await store.summary({}), await store.usage({ account: 'local', groupBy: 'env' })];
  expect(summary).toMatchObject({ count: 2, mean_reward: 0.75, tokens: { total: 110 } });

  // What the database of an older Proctor does not have.
  const { schema } = database.kysely;
  await schema.dropTable('daily_figures').execute();
  await schema.dropTable('outcomes').execute();
  await schema.dropTable('trace_blobs').execute();
  await schema.dropIndex('traces_key_queued').execute();
  await schema.dropIndex('idempotency_keys_expiry').execute();
  await schema.alterTable('traces').dropColumn('key_id').execute();
  await createServiceTables(database.kysely as Kysely<unknown>);
  await createDailyFigures(database.kysely as Kysely<unknown>);

  expect(await store.summary({})).toEqual(summary);
  expect(await store.usage({ account: 'local', groupBy: 'env' })).toMatchObject([
    { ...usage[0], compute_seconds: expect.any(Number) },
  ]);
  const sha256 = reference.slice('svc-blob://sha256/'.length);
  expect(await store.blob(sha256, 'local')).toBeDefined();
  await store.remove(done.traceId);
  expect(await store.blob(sha256)).toBeUndefined();
});
