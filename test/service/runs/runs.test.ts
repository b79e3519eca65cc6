import { expect, test, vi } from 'vitest';
import { traceSchema } from '../../../src/contract/service/trace.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { send } from '../../support/http/http-server.ts';
import { APP_URL, COUNTER_PROCESS, startService, traceIdOf } from './service.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 120_000 });

test('a run is accepted at once with its trace id and the address of its page', async () => {
  const service = await startService({ worker: false });
  const reply = await service.run();
  const traceId = traceIdOf(reply);
  expect(traceId).toMatch(/^[0-9a-f]{32}$/);
  expect({ status: reply.status, body: reply.json }).toEqual({
    status: 200,
    body: { trace_id: traceId, trace_url: `${APP_URL}/traces/${traceId}`, status: 'queued' },
  });
  expect(await service.queue.counts()).toEqual({ waiting: 1, leased: 0 });
  expect((await service.request(`/v1/traces/${traceId}`)).json).toMatchObject({
    object: 'trace',
    trace_id: traceId,
    status: 'queued',
    attempt: 1,
    env_name: 'counter',
    scenario_name: 'count_to',
    scenario_args: { target: 3 },
    max_steps: 100,
    seed: null,
    reward: null,
  });
});

test('with Prefer: wait the answer has the reward of the run, in an environment process of its own', async () => {
  const service = await startService({ environments: new Map([['counter', COUNTER_PROCESS]]) });
  const reply = await service.run({}, { prefer: 'respond-async, wait=60' });
  expect(reply.json).toEqual({
    trace_id: traceIdOf(reply),
    trace_url: `${APP_URL}/traces/${traceIdOf(reply)}`,
    status: 'completed',
    reward: 1,
    answer: 'The counter shows 3.',
  });
  expect(reply.headers['preference-applied']).toBe('wait=60');
  const trace = traceSchema.parse((await service.request(`/v1/traces/${traceIdOf(reply)}`)).json);
  expect(trace).toMatchObject({
    status: 'completed',
    stop_reason: 'answered',
    attempts: [{ attempt: 1, end: 'completed' }],
    versions: { environment: '1.0.0', environment_hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    evaluation: { reward: 1 },
    error: null,
  });
  // The entry goes once the environment is closed, after the run's end.
  await expect.poll(() => service.queue.counts()).toEqual({ waiting: 0, leased: 0 });
});

test('proctor/noop answers an empty text and gets its reward', async () => {
  const service = await startService();
  const reply = await service.run({ model: 'proctor/noop' }, { prefer: 'wait=60' });
  expect(reply.json).toMatchObject({ status: 'completed', reward: 0, answer: '' });
  const nothingToDo = await service.run({ model: 'proctor/noop', scenario_args: { target: 0 } }, { prefer: 'wait=60' });
  expect(nothingToDo.json).toMatchObject({ status: 'completed', reward: 1 });
});

test('a scenario may be named with its environment', async () => {
  const service = await startService();
  const reply = await service.run({ scenario_name: 'counter:count_to' }, { prefer: 'wait=60' });
  expect(reply.json).toMatchObject({ status: 'completed', reward: 1 });
  expect(await service.ended(traceIdOf(reply))).toMatchObject({ scenario_name: 'count_to' });
});

test('what the request asked for is in the trace', async () => {
  const service = await startService();
  const asked = { max_steps: 7, seed: 42, metadata: { build: '9' }, sampling: { temperature: 0.5 } };
  const trace = await service.ended(traceIdOf(await service.run({ ...asked, priority: 3, timeout_seconds: 60 })));
  expect(trace).toMatchObject({ ...asked, status: 'completed', reward: 1 });
});

test('a key that was sent as the name of a model is in no row once the run has ended', async () => {
  const models = createModels({ gateways: [{ pattern: '*', baseUrl: 'http://127.0.0.1:9/v1' }] });
  const service = await startService({ worker: false, models });
  const secret = ['sk', 'proj', 'aB3dE6gH9jK2mN5pQ8sT1vW4'].join('-');
  const traceId = traceIdOf(await service.run({ model: secret }));
  // What is to be executed is kept as it was asked for.
  expect((await service.store.row(traceId))?.request.model).toBe(secret);
  expect((await service.request(`/v1/traces/${traceId}/cancel`, { method: 'POST' })).status).toBe(200);
  const { kysely } = service.database;
  const tables = await Promise.all(
    (['traces', 'events', 'outcomes'] as const).map((table) => kysely.selectFrom(table).selectAll().execute()),
  );
  expect(tables.map((rows) => rows.length > 0)).toEqual([true, true, true]);
  expect(JSON.stringify(tables)).not.toContain(secret);
});

test('a run may have metadata of 64 keys of 64 characters, with values of 512', async () => {
  const service = await startService({ worker: false });
  const entries = Array.from({ length: 64 }, (_, index) => [`${index}`.padEnd(64, 'k'), 'v'.repeat(512)] as const);
  const metadata = Object.fromEntries(entries);
  const traceId = traceIdOf(await service.run({ metadata }));
  expect((await service.request(`/v1/traces/${traceId}`)).json).toMatchObject({ metadata });
  const [key = '', value = ''] = entries[63] ?? [];
  expect((await service.request(`/v1/traces?metadata.${key}=${value}`)).json).toMatchObject({
    data: [{ trace_id: traceId }],
  });
});

test.each([
  ['of 65 keys', Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, ''])), 'metadata', /65.*64/],
  ['with an empty key', { '': 'x' }, 'metadata.', /1 to 64/],
  ['with a key of 65 characters', { ['k'.repeat(65)]: 'x' }, `metadata.${'k'.repeat(64)}`, /64.*65/],
  ['with a value of 513 characters', { team: 'v'.repeat(513) }, 'metadata.team', /513.*512/],
  ['with a zero character', { team: 'a\0b' }, 'metadata.team', /zero character/],
])('metadata %s are refused, and no run exists', async (_case, metadata, param, message) => {
  const service = await startService({ worker: false });
  const reply = await service.run({ metadata });
  expect(reply).toMatchObject({
    status: 400,
    json: { error: { code: 'invalid_parameter', param, message: expect.stringMatching(message) } },
  });
  expect(await service.countRuns()).toBe(0);
});

test.each([
  ['wait=0', 'wait=0'],
  ['WAIT = 1', 'wait=1'],
  ['wait=100000; strict', 'wait=240'],
  ['wait=99999999999999999999', 'wait=240'],
])('Prefer: %s is taken as %s', async (prefer, applied) => {
  const service = await startService();
  expect((await service.run({}, { prefer })).headers['preference-applied']).toBe(applied);
});

test.each(['wait=soon', 'wait=-1', 'handling=strict', ''])('Prefer: %s is ignored', async (prefer) => {
  const service = await startService({ worker: false });
  const reply = await service.run({}, { prefer });
  expect(reply.json).toEqual({ trace_id: traceIdOf(reply), trace_url: expect.any(String), status: 'queued' });
});

test('a wait that ends before the run answers with what there is', async () => {
  const service = await startService({ worker: false });
  const reply = await service.run({}, { prefer: 'wait=1' });
  expect(reply.json).toMatchObject({ status: 'queued', reward: null, answer: null });
  expect((await service.request(`/v1/traces/${traceIdOf(reply)}?wait=1`)).json).toMatchObject({ status: 'queued' });
});

test('the run of another process is waited for too', async () => {
  const service = await startService({ worker: false });
  const accepted = await service.run();
  const waiting = service.ended(traceIdOf(accepted));
  // Another service on the same database: nothing of it is heard of here but by the rows.
  await startService({ parts: { ...service, store: createTraceStore(service.database, { appUrl: APP_URL }) } });
  expect(await waiting).toMatchObject({ status: 'completed', reward: 1 });
});

test('traces are listed newest first, without steps and logs, by filters, and page by page', async () => {
  const service = await startService();
  const ids: string[] = [];
  for (const [index, model] of ['proctor/oracle', 'proctor/noop', 'proctor/oracle'].entries()) {
    const reply = await service.run({ model, metadata: { index: String(index) } }, { prefer: 'wait=60' });
    ids.unshift(traceIdOf(reply));
  }
  const list = async (query: string) => {
    const { json } = await service.request(`/v1/traces?${query}`);
    return json as { data: { trace_id: string }[]; next_cursor: string | null };
  };
  const idsOf = async (query: string) => (await list(query)).data.map((trace) => trace.trace_id);
  const all = await list('');
  expect(all).toMatchObject({ object: 'list', next_cursor: null });
  expect(all.data.map((trace) => trace.trace_id)).toEqual(ids);
  expect(all.data[0]).not.toHaveProperty('steps');
  expect(all.data[0]).not.toHaveProperty('logs');
  expect(await idsOf('model=proctor/noop')).toEqual([ids[1]]);
  expect(await idsOf('min_reward=0.5')).toEqual([ids[0], ids[2]]);
  expect(await idsOf('max_reward=0')).toEqual([ids[1]]);
  expect(await idsOf('metadata.index=2')).toEqual([ids[0]]);
  expect(await idsOf('metadata.index=2&metadata.other=x')).toEqual([]);
  expect(await idsOf('status=completed&env_name=counter&scenario_name=count_to&origin=run')).toEqual(ids);
  expect(await idsOf('status=failed')).toEqual([]);
  expect(await idsOf('since=2999-01-01T00:00:00Z')).toEqual([]);
  expect(await idsOf('until=2999-01-01T00:00:00.000%2B02:00')).toEqual(ids);
  expect((await idsOf('sort=reward')).at(-1)).toBe(ids[1]);
  const first = await list('limit=2');
  expect(first.data.map((trace) => trace.trace_id)).toEqual(ids.slice(0, 2));
  expect(await idsOf(`limit=2&cursor=${encodeURIComponent(first.next_cursor ?? '')}`)).toEqual(ids.slice(2));
});

test('what belongs to another account is not found, never forbidden', async () => {
  const service = await startService();
  const traceId = traceIdOf(await service.run({}, { prefer: 'wait=60' }));
  const other = await service.accounts.createKey({ name: 'other', account: 'other' });
  const headers = { authorization: `Bearer ${other.key}` };
  for (const path of [`/v1/traces/${traceId}`, `/v1/traces/${traceId}?wait=1`]) {
    expect((await service.request(path, { headers })).json).toMatchObject({ error: { code: 'trace_not_found' } });
  }
  const cancel = await service.request(`/v1/traces/${traceId}/cancel`, { method: 'POST', headers });
  expect(cancel.json).toMatchObject({ error: { code: 'trace_not_found' } });
  expect((await service.request('/v1/traces', { headers })).json).toMatchObject({ data: [] });
});

test('a signed-in browser reads the data of its account and starts nothing', async () => {
  const service = await startService({ worker: false });
  const traceId = traceIdOf(await service.run());
  const { session } = await service.accounts.createBrowserSession('local');
  const headers = { cookie: `other=1; proctor_session=${session}` };
  expect((await send(service.url, `/v1/traces/${traceId}`, { headers })).status).toBe(200);
  expect((await send(service.url, '/v1/traces', { headers })).json).toMatchObject({ data: [{ trace_id: traceId }] });
  const cancel = await send(service.url, `/v1/traces/${traceId}/cancel`, { method: 'POST', headers });
  expect(cancel.status).toBe(401);
  expect((await send(service.url, '/v1/traces')).status).toBe(401);
});

test('environments, their scenarios, tools and models are listed', async () => {
  const service = await startService();
  expect((await service.request('/v1/environments')).json).toEqual({
    object: 'list',
    data: [
      { name: 'counter', description: 'A counter that starts at 0.', version: '1.0.0', state: 'ready', warnings: [] },
    ],
  });
  expect((await service.request('/v1/environments/counter/scenarios')).json).toMatchObject({
    scenarios: [
      { name: 'counter:count_to', short_name: 'count_to', required_args: ['target'] },
      { short_name: 'slow_count', required_args: ['target', 'delay_ms'] },
    ],
  });
  expect((await service.request('/v1/environments/counter/tools')).json).toMatchObject({
    tools: [
      { name: 'increment', input_schema: { properties: { by: { type: 'integer' } } }, output_schema: null },
      { name: 'read', annotations: { readOnlyHint: true } },
      { name: 'slow_increment' },
    ],
  });
  expect((await service.request('/v1/models')).json).toMatchObject({
    object: 'list',
    data: expect.arrayContaining([expect.objectContaining({ id: 'proctor/oracle', object: 'model' })]),
  });
});

test('healthz and readyz need no key and allow every Host', async () => {
  const service = await startService();
  for (const path of ['/healthz', '/readyz']) {
    const reply = await send(service.url, path, { headers: { host: 'balancer.internal' } });
    expect({ status: reply.status, body: reply.json }).toEqual({ status: 200, body: { status: 'ok' } });
  }
});

test('openapi.json describes the service without a key', async () => {
  const service = await startService();
  const { status, json } = await send(service.url, '/openapi.json');
  expect(status).toBe(200);
  expect(json).toMatchObject({
    paths: {
      '/v1/agent/run': { post: {} },
      '/v1/traces/{trace_id}': { get: {} },
      '/v1/traces/{trace_id}/cancel': { post: {} },
    },
  });
});

test('bytes of a trace are served by their hash, and never as a page', async () => {
  const service = await startService({ worker: false });
  const traceId = traceIdOf(await service.run());
  const address = await service.store.putBlob(traceId, new TextEncoder().encode('<script>'), 'text/html');
  const reply = await service.request(`/v1/blobs/${address.split('/').at(-1)}`);
  expect({ status: reply.status, text: reply.text }).toEqual({ status: 200, text: '<script>' });
  expect(reply.headers).toMatchObject({
    'content-type': 'text/html',
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  });
});

test('many runs at once all get their reward, whatever the concurrency', async () => {
  const service = await startService({ worker: { concurrency: 3 } });
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, target) => service.run({ scenario_args: { target } }, { prefer: 'wait=60' })),
  );
  expect(replies.map(({ json }) => json)).toEqual(
    replies.map((_, target) =>
      expect.objectContaining({ status: 'completed', reward: 1, answer: `The counter shows ${target}.` }),
    ),
  );
});
