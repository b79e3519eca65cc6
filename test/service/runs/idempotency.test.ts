import { describe, expect, it, vi } from 'vitest';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { sharedPostgres } from '../../postgres.ts';
import { deferred } from '../../support/http/http-server.ts';
import { APP_URL, openParts, startService, type TestService, traceIdOf } from './service.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 60_000 });

const KEY = { 'idempotency-key': 'k1' };
const DAY_MS = 24 * 60 * 60 * 1_000;

const post = (service: TestService, body: string, headers: Readonly<Record<string, string>> = KEY) =>
  service.request('/v1/agent/run', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });

const conflict = {
  status: 409,
  json: { error: { type: 'conflict_error', param: null, code: 'idempotency_conflict' } },
  headers: { 'x-should-retry': 'false' },
};

describe('a run with an Idempotency-Key', () => {
  it('idempotency.same: sent again gets the same answer, and there is one run', async () => {
    const service = await startService({ worker: false });
    const first = await service.run({}, KEY);
    const again = await service.run({}, KEY);
    expect({ status: again.status, json: again.json }).toEqual({ status: 200, json: first.json });
    expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
    expect(await service.countRuns()).toBe(1);
    expect(await service.queue.counts()).toEqual({ waiting: 1, leased: 0 });
  });

  it('idempotency.json: bodies are compared as JSON values, whatever their order and their spaces', async () => {
    const service = await startService({ worker: false });
    const first = await post(
      service,
      '{"env_name":"counter","scenario_name":"count_to","scenario_args":{"target":3},"model":"proctor/oracle","seed":1}',
    );
    const again = await post(
      service,
      '{ "seed": 1.0, "model":"proctor\\/oracle", "scenario_args": { "target":3 },\n"scenario_name":"count_to","env_name":"counter"}',
    );
    expect(again.json).toEqual(first.json);
    expect(await service.countRuns()).toBe(1);
  });

  it.each([
    ['another argument', { scenario_args: { target: 4 } }],
    ['a field more', { seed: 1 }],
    ['a default that is written out', { max_steps: 100 }],
    ['a field that is unknown', { note: 'x' }],
    ['null', { seed: null }],
  ])('idempotency.conflict: with another body (%s) is 409 idempotency_conflict', async (_case, change) => {
    const service = await startService({ worker: false });
    await service.run({}, KEY);
    expect(await service.run(change, KEY)).toMatchObject(conflict);
    expect(await service.countRuns()).toBe(1);
  });

  it('idempotency.waits: while the first one is being answered it waits, and gets the same answer', async () => {
    const parts = await openParts();
    const entered = deferred<void>();
    const goOn = deferred<void>();
    const queue: typeof parts.queue = {
      ...parts.queue,
      enqueue: async (...entry) => {
        entered.resolve();
        await goOn.promise;
        await parts.queue.enqueue(...entry);
      },
    };
    const service = await startService({ worker: false, parts: { ...parts, queue } });
    const running = service.run({}, KEY);
    await entered.promise;
    const meanwhile = service.run({}, KEY);
    expect(await service.run({ seed: 1 }, KEY)).toMatchObject(conflict);
    goOn.resolve();
    const first = await running;
    expect(first.status).toBe(200);
    expect((await meanwhile).json).toEqual(first.json);
    expect((await service.run({}, KEY)).json).toEqual(first.json);
    expect(await service.countRuns()).toBe(1);
  });

  it('idempotency.concurrent: sent many times at once is one run, and all get its answer', async () => {
    const service = await startService({ worker: false });
    const replies = await Promise.all(Array.from({ length: 20 }, () => service.run({}, KEY)));
    expect(replies.filter(({ status }) => status !== 200)).toEqual([]);
    expect(new Set(replies.map(({ json }) => JSON.stringify(json))).size).toBe(1);
    expect(await service.countRuns()).toBe(1);
  });

  it.each([
    ['without Prefer', {}],
    ['with Prefer: wait', { prefer: 'wait=60' }],
  ])('idempotency.deleted: after its trace was deleted it is a new run, %s', async (_case, prefer) => {
    const service = await startService();
    const first = traceIdOf(await service.run({}, { ...KEY, prefer: 'wait=60' }));
    expect((await service.request(`/v1/traces/${first}`, { method: 'DELETE' })).status).toBe(204);
    const again = await service.run({}, { ...KEY, ...prefer });
    expect(again.status).toBe(200);
    expect(traceIdOf(again)).not.toBe(first);
    expect((await service.request(`/v1/traces/${traceIdOf(again)}`)).status).toBe(200);
    expect(traceIdOf(await service.run({}, KEY))).toBe(traceIdOf(again));
    expect(await service.countRuns()).toBe(1);
  });

  it('idempotency.deleted-body: a key whose trace was deleted is free for another request', async () => {
    const service = await startService();
    const first = traceIdOf(await service.run({}, { ...KEY, prefer: 'wait=60' }));
    await service.request(`/v1/traces/${first}`, { method: 'DELETE' });
    expect((await service.run({ seed: 1 }, KEY)).status).toBe(200);
    expect(await service.run({}, KEY)).toMatchObject(conflict);
  });

  it('idempotency.concurrent-conflict: another body at the same time is refused', async () => {
    const service = await startService({ worker: false });
    const [first, other] = await Promise.all([service.run({}, KEY), service.run({ seed: 1 }, KEY)]);
    expect(first.status).toBe(200);
    expect(other).toMatchObject(conflict);
    expect(await service.countRuns()).toBe(1);
  });

  it('idempotency.two-services: sent to two services of one database at once is one run', async () => {
    const service = await startService({ worker: false });
    const store = createTraceStore(service.database, { appUrl: APP_URL });
    const other = await startService({ worker: false, parts: { ...service, store } });
    for (let round = 0; round < 10; round++) {
      const headers = { 'idempotency-key': `round-${round}` };
      const [first, second] = await Promise.all([service.run({}, headers), other.run({}, headers)]);
      expect([first.status, second.json]).toEqual([200, first.json]);
    }
    expect(await service.countRuns()).toBe(10);
  });

  it('idempotency.postgres: sent to two services on one Postgres, many at once, is one run for each key', async () => {
    const url = await (await sharedPostgres()).createDatabase();
    const services = [
      await startService({ worker: false, parts: await openParts(url) }),
      await startService({ worker: false, parts: await openParts(url) }),
    ];
    const keys = Array.from({ length: 10 }, (_, index) => `key-${index}`);
    const replies = await Promise.all(
      services.flatMap((service, at) =>
        // In opposite orders, so that each is the first somewhere.
        (at === 0 ? keys : keys.toReversed()).map(async (key) => ({
          key,
          reply: await service.run({}, { 'idempotency-key': key }),
        })),
      ),
    );
    for (const key of keys) {
      const [first, second] = replies.filter((each) => each.key === key).map(({ reply }) => reply);
      expect([first?.status, second?.json]).toEqual([200, first?.json]);
    }
    expect(await services[0]?.countRuns()).toBe(10);
  });

  it('idempotency.refused: a refused request does not use the key up', async () => {
    const service = await startService({ worker: false });
    for (const change of [
      { env_name: 'nope' },
      { scenario_name: 'nope' },
      { scenario_args: {} },
      { model: 'proctor/nope' },
      { max_steps: 0 },
    ]) {
      expect((await service.run(change, KEY)).status).toBeGreaterThanOrEqual(400);
    }
    expect((await service.run({}, KEY)).status).toBe(200);
    expect(await service.countRuns()).toBe(1);
  });

  it('idempotency.account: keys are their account’s', async () => {
    const service = await startService({ worker: false });
    const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
    const sibling = await service.accounts.createKey({ name: 'sibling' });
    const first = await service.run({}, KEY);
    const foreign = await service.run({ seed: 1 }, { ...KEY, authorization: `Bearer ${key}` });
    expect(foreign.status).toBe(200);
    expect(traceIdOf(foreign)).not.toBe(traceIdOf(first));
    // Another key of the same account is the same account.
    expect((await service.run({}, { ...KEY, authorization: `Bearer ${sibling.key}` })).json).toEqual(first.json);
  });

  it('idempotency.day: is forgotten after 24 hours', async () => {
    let now = Date.now();
    const service = await startService({ worker: false, now: () => now });
    const first = traceIdOf(await service.run({}, KEY));
    now += DAY_MS - 1;
    expect(traceIdOf(await service.run({}, KEY))).toBe(first);
    now += 2;
    expect(traceIdOf(await service.run({ seed: 1 }, KEY))).not.toBe(first);
  });

  it('idempotency.restart: is remembered by a service that was started anew', async () => {
    const parts = await openParts();
    const service = await startService({ worker: false, parts });
    const first = await service.run({}, KEY);
    await service.close();
    const again = await startService({ worker: false, parts });
    expect((await again.run({}, KEY)).json).toEqual(first.json);
    expect(await again.run({ seed: 1 }, KEY)).toMatchObject(conflict);
  });

  it('idempotency.one-transaction: a run whose entry cannot be written leaves neither row nor key', async () => {
    const parts = await openParts();
    let isBroken = true;
    const queue: typeof parts.queue = {
      ...parts.queue,
      enqueue: async (...entry) => {
        if (isBroken) throw new Error('The queue is broken');
        await parts.queue.enqueue(...entry);
      },
    };
    const service = await startService({ worker: false, parts: { ...parts, queue } });
    expect((await service.run({}, KEY)).status).toBe(500);
    expect(await service.countRuns()).toBe(0);
    expect(await service.database.kysely.selectFrom('events').selectAll().execute()).toEqual([]);
    expect(await service.database.kysely.selectFrom('idempotency_keys').selectAll().execute()).toEqual([]);
    isBroken = false;
    expect((await service.run({}, KEY)).status).toBe(200);
  });

  it('idempotency.wait: with Prefer: wait both wait for the one run', async () => {
    const parts = await openParts();
    const service = await startService({ worker: false, parts });
    const waiting = service.run({}, { ...KEY, prefer: 'wait=60' });
    await vi.waitUntil(async () => (await service.queue.counts()).waiting === 1, { timeout: 30_000 });
    const joining = service.run({}, { ...KEY, prefer: 'wait=60' });
    await startService({ parts });
    const [first, again] = await Promise.all([waiting, joining]);
    expect(first.json).toMatchObject({ status: 'completed', reward: 1 });
    expect(again.json).toEqual(first.json);
    expect(await service.countRuns()).toBe(1);
  });

  it.each([[' '], ['x'.repeat(256)]])('idempotency.key: the key %j is 400', async (key) => {
    const service = await startService({ worker: false });
    expect(await service.run({}, { 'idempotency-key': key })).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_parameter', message: expect.stringContaining('Idempotency-Key') } },
    });
    expect(await service.countRuns()).toBe(0);
  });
});
