import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { startScenarioServer } from '../../../src/service/chat/start.ts';
import { guardedBy } from '../../../src/store/accounts/guard.ts';
import { sharedPostgres } from '../../postgres.ts';
import { send } from '../../support/http/http-server.ts';
import { COUNTER, openParts, startService, type TestService, traceIdOf } from './service.ts';

/** A key and its header. */
async function keyOf({ accounts }: TestService, limits: { requestsPerMinute?: number } = {}) {
  const { id, key } = await accounts.createKey({ name: `limited-${Math.random()}`, ...limits });
  return { id, headers: { authorization: `Bearer ${key}` } };
}

const exceeded = {
  status: 429,
  headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
  json: { error: { type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' } },
};

describe('requests per minute', () => {
  it('limit.requests: over them is 429 rate_limit_exceeded with retry-after, whatever is asked', async () => {
    const service = await startService({ worker: false });
    const { headers } = await keyOf(service, { requestsPerMinute: 3 });
    for (let index = 0; index < 3; index++) expect((await service.request('/v1/traces', { headers })).status).toBe(200);
    expect(await service.request('/v1/traces', { headers })).toMatchObject(exceeded);
    expect(await service.run({}, headers)).toMatchObject(exceeded);
    expect(await service.request('/nowhere', { headers })).toMatchObject(exceeded);
    expect(await service.countRuns()).toBe(0);
    const { 'retry-after': after } = (await service.request('/v1/traces', { headers })).headers;
    expect(Number(after)).toBeLessThanOrEqual(60);
    // Others are not held to it, and neither is what needs no key.
    expect((await service.request('/v1/traces')).status).toBe(200);
    expect((await service.request('/healthz', { headers })).status).toBe(200);
  });

  it('limit.both-servers: the scenario server beside the run service is no way around them', async () => {
    const service = await startService({ worker: false });
    const scenarios = await startScenarioServer({
      database: service.database,
      store: service.store,
      environments: new Map([['counter', COUNTER]]),
      models: createModels({}),
      model: 'proctor/oracle',
      host: '127.0.0.1',
      port: 0,
      logger: pino({ level: 'silent' }),
      ...guardedBy(service.accounts),
    });
    onTestFinished(() => scenarios.close());
    const { headers } = await keyOf(service, { requestsPerMinute: 2 });
    expect((await service.request('/v1/traces', { headers })).status).toBe(200);
    expect((await send(scenarios.url, '/v1/sessions', { headers })).status).toBe(200);
    expect(await send(scenarios.url, '/v1/sessions', { headers })).toMatchObject(exceeded);
    expect(await send(scenarios.url, '/mcp', { method: 'POST', headers })).toMatchObject(exceeded);
    expect(await service.request('/v1/traces', { headers })).toMatchObject(exceeded);
  });
});

describe('queued runs of a key', () => {
  /** So many runs of the key in the queue, one of which is real. */
  async function fillQueue(
    service: TestService,
    keyId: string,
    headers: Readonly<Record<string, string>>,
    count: number,
  ) {
    const traceId = traceIdOf(await service.run({}, headers));
    const { kysely } = service.database;
    const row = await kysely.selectFrom('traces').selectAll().where('trace_id', '=', traceId).executeTakeFirstOrThrow();
    expect(row.key_id).toBe(keyId);
    const toId = (index: number) => index.toString(16).padStart(32, '0');
    for (let from = 1; from < count; from += 1_000) {
      const rows = Array.from({ length: Math.min(1_000, count - from) }, (_, index) => ({
        ...row,
        trace_id: toId(from + index),
      }));
      await kysely.insertInto('traces').values(rows).execute();
    }
    return traceId;
  }

  it('limit.queued: over 10,000 is 429 quota_exceeded, until one has left the queue', { timeout: 60_000 }, async () => {
    const filled = await startService({ worker: false });
    const { id, headers } = await keyOf(filled);
    const traceId = await fillQueue(filled, id, headers, 9_999);
    // One that has counted nothing yet.
    const service = await startService({ worker: false, parts: filled });
    expect((await service.run({}, headers)).status).toBe(200);
    const refused = await service.run({}, headers);
    expect(refused).toMatchObject({
      status: 429,
      headers: { 'retry-after': '30' },
      json: { error: { type: 'rate_limit_error', param: null, code: 'quota_exceeded' } },
    });
    // It is the key's alone.
    expect((await service.run()).status).toBe(200);
    await service.request(`/v1/traces/${traceId}/cancel`, { method: 'POST', headers });
    expect((await service.run({}, headers)).status).toBe(200);
    expect((await service.run({}, headers)).status).toBe(429);
  });

  it('limit.queued-at-once: many requests at once get the places that are left, and no more', {
    timeout: 120_000,
  }, async () => {
    const url = await (await sharedPostgres()).createDatabase();
    const service = await startService({ worker: false, parts: await openParts(url) });
    const { id, headers } = await keyOf(service);
    await fillQueue(service, id, headers, 9_995);
    const replies = await Promise.all(Array.from({ length: 40 }, () => service.run({}, headers)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(35);
  });
});
