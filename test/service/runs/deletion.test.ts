import { expect, test } from 'vitest';
import { send } from '../../support/http/http-server.ts';
import { startService, type TestService, traceIdOf } from './service.ts';

const remove = (service: TestService, traceId: string, headers = {}) =>
  service.request(`/v1/traces/${traceId}`, { method: 'DELETE', headers });

test('delete.finished: a trace whose run has ended is deleted with what belongs to it: 204, and then it is not found', async () => {
  const service = await startService();
  const metadata = { build: '9' };
  const traceId = traceIdOf(await service.run({ metadata }, { prefer: 'wait=60' }));
  const reply = await remove(service, traceId);
  expect([reply.status, reply.text]).toEqual([204, '']);
  for (const path of [`/v1/traces/${traceId}`, `/v1/traces/${traceId}/events`]) {
    expect(await service.request(path)).toMatchObject({ status: 404, json: { error: { code: 'trace_not_found' } } });
  }
  expect(await remove(service, traceId)).toMatchObject({ status: 404, json: { error: { code: 'trace_not_found' } } });
  expect((await service.request('/v1/traces?metadata.build=9')).json).toMatchObject({ data: [] });
  for (const table of ['traces', 'events', 'trace_metadata'] as const) {
    expect(await service.database.kysely.selectFrom(table).selectAll().execute()).toEqual([]);
  }
});

test('delete.running: one that is queued or running is 409 run_running, and stays', async () => {
  const service = await startService({ worker: false });
  const traceId = traceIdOf(await service.run());
  const refused = {
    status: 409,
    headers: { 'x-should-retry': 'false' },
    json: { error: { type: 'conflict_error', param: null, code: 'run_running' } },
  };
  expect(await remove(service, traceId)).toMatchObject(refused);
  const { database } = service;
  await database.kysely.updateTable('traces').set({ status: 'running' }).where('trace_id', '=', traceId).execute();
  expect(await remove(service, traceId)).toMatchObject(refused);
  expect((await service.request(`/v1/traces/${traceId}`)).status).toBe(200);
});

test('delete.cancelled: one that was cancelled can be deleted', async () => {
  const service = await startService({ worker: false });
  const traceId = traceIdOf(await service.run());
  await service.request(`/v1/traces/${traceId}/cancel`, { method: 'POST' });
  expect((await remove(service, traceId)).status).toBe(204);
});

test('delete.access: another account does not find it, a browser may not delete, and no id is not found', async () => {
  const service = await startService({ worker: false });
  const traceId = traceIdOf(await service.run());
  await service.request(`/v1/traces/${traceId}/cancel`, { method: 'POST' });
  const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
  expect((await remove(service, traceId, { authorization: `Bearer ${key}` })).status).toBe(404);
  const { session } = await service.accounts.createBrowserSession('local');
  const cookie = `proctor_session=${session}`;
  const path = `/v1/traces/${traceId}`;
  expect((await send(service.url, path, { method: 'DELETE', headers: { cookie } })).status).toBe(401);
  expect((await remove(service, 'nonsense')).status).toBe(404);
  expect((await service.request(path)).status).toBe(200);
});

test('delete.blobs: a blob goes with the last trace that refers to it, and another account never sees it', async () => {
  const service = await startService({ worker: false });
  const [first, second] = [traceIdOf(await service.run()), traceIdOf(await service.run())];
  const bytes = new Uint8Array(20_000).fill(7);
  const reference = await service.store.putBlob(first, bytes, 'image/png');
  await service.store.putBlob(second, bytes, 'image/png');
  const path = `/v1/blobs/${reference.split('/').at(-1)}`;
  const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
  const foreign = await service.request(path, { headers: { authorization: `Bearer ${key}` } });
  expect(foreign).toMatchObject({ status: 404, json: { error: { code: 'blob_not_found' } } });
  for (const [traceId, status] of [
    [first, 200],
    [second, 404],
  ] as const) {
    await service.request(`/v1/traces/${traceId}/cancel`, { method: 'POST' });
    await remove(service, traceId);
    expect((await service.request(path)).status).toBe(status);
  }
});
