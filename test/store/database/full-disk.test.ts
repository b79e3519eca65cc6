import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { openParts, startService } from '../../service/runs/service.ts';
import { log, newTrace, seqs, started, upTo } from '../traces/events.ts';

it('a full disk refuses new runs in words, harms nothing that is there, and is forgotten when there is room', async () => {
  const parts = await openParts();
  const { kysely } = parts.database;
  const service = await startService({ parts, worker: false });
  const first = await service.run();
  expect(first.status).toBe(200);
  const trace = newTrace();
  await parts.store.create(trace);
  await parts.store.append(trace.traceId, 1, [started]);

  // As a disk that has no room for another page.
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(kysely);
  await sql`pragma max_page_count = ${sql.lit(rows[0]?.page_count ?? 0)}`.execute(kysely);
  const large = 'x'.repeat(60_000);
  const refused = await service.run({ sampling: { note: large } });
  expect(refused.status).toBe(503);
  expect(refused.headers['retry-after']).toBe('30');
  expect(refused.json).toMatchObject({
    error: {
      type: 'server_error',
      code: 'store_unavailable',
      message: expect.stringMatching(/disk of the store is full/),
    },
  });
  await expect(parts.store.append(trace.traceId, 1, [log(large)])).rejects.toMatchObject({ code: 'store_unavailable' });
  expect((await service.request('/v1/traces')).status).toBe(200);

  await sql`pragma max_page_count = 1000000`.execute(kysely);
  expect((await service.run({ sampling: { note: 'small' } })).status).toBe(200);
  expect(seqs(await parts.store.append(trace.traceId, 1, [log(large)]))).toEqual([3]);
  expect(seqs(await parts.store.events(trace.traceId))).toEqual(upTo(3));
  const check = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(kysely);
  expect(check.rows).toEqual([{ integrity_check: 'ok' }]);
});

it('a disk that takes no writes refuses new runs with 503 store_unavailable, and is forgotten when it does again', async () => {
  const parts = await openParts();
  const { kysely } = parts.database;
  const service = await startService({ parts, worker: false });
  // As a file system that was remounted for reading alone: SQLite says READONLY.
  await sql`pragma query_only = on`.execute(kysely);
  const refused = await service.run();
  expect([refused.status, refused.headers['retry-after']]).toEqual([503, '30']);
  expect(refused.json).toMatchObject({ error: { type: 'server_error', code: 'store_unavailable' } });
  await sql`pragma query_only = off`.execute(kysely);
  expect((await service.run()).status).toBe(200);
});
