import { pino } from 'pino';
import { expect, test } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { startRunService } from '../../../src/service/runs/start.ts';
import { APP_URL, openParts, startService } from './service.ts';

test.each([
  ['no key', { authorization: '' }],
  ['a malformed key', { authorization: 'Basic abc' }],
  ['an unknown key', { authorization: 'Bearer nobody' }],
])('%s is 401, and no run exists', async (_case, headers) => {
  const service = await startService();
  const reply = await service.run({}, headers);
  expect({ status: reply.status, scheme: reply.headers['www-authenticate'] }).toEqual({
    status: 401,
    scheme: 'Bearer',
  });
  expect(reply.json).toMatchObject({ error: { type: 'authentication_error', param: null, code: 'invalid_api_key' } });
  expect(await service.countRuns()).toBe(0);
});

test('a foreign Host or Origin is refused, and no run exists', async () => {
  const service = await startService();
  for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }, { origin: 'null' }]) {
    expect((await service.run({}, headers)).json).toMatchObject({ error: { code: 'forbidden_origin' } });
  }
  expect(await service.countRuns()).toBe(0);
});

test('a body that is empty, broken, no object, too large or no JSON is refused, and no run exists', async () => {
  const service = await startService();
  const post = async (body: string, type = 'application/json') => {
    const reply = await service.request('/v1/agent/run', { method: 'POST', headers: { 'content-type': type }, body });
    return { status: reply.status, body: reply.json };
  };
  const error = (code: string) => ({ error: { code, type: 'invalid_request_error', param: null } });
  expect(await post('')).toMatchObject({ status: 400, body: error('invalid_json') });
  expect(await post('{"env_name":')).toMatchObject({ status: 400, body: error('invalid_json') });
  expect(await post('[]')).toMatchObject({ status: 400, body: error('invalid_parameter') });
  expect(await post(`"${'x'.repeat(5_000_000)}"`)).toMatchObject({ status: 413, body: error('request_too_large') });
  expect(await post('a=b', 'text/plain')).toMatchObject({ status: 415, body: error('unsupported_media_type') });
  expect(await service.countRuns()).toBe(0);
});

test.each([
  ['limit=0', 'limit'],
  ['limit=101', 'limit'],
  ['limit=x', 'limit'],
  ['sort=name', 'sort'],
  ['status=done', 'status'],
  ['origin=x', 'origin'],
  ['min_reward=x', 'min_reward'],
  ['max_reward=', 'max_reward'],
  ['since=yesterday', 'since'],
  ['until=2026-13-01T00:00:00Z', 'until'],
  ['cursor=nonsense', 'cursor'],
  ['env_name=', 'env_name'],
  ['metadata.=x', 'metadata.'],
  ['metadata.a=%00', 'metadata.a'],
  ['model=a%00b', 'model'],
  [Array.from({ length: 11 }, (_, index) => `metadata.k${index}=v`).join('&'), 'metadata'],
])('the query %s of a list is 400 with its name', async (query, param) => {
  const service = await startService();
  const reply = await service.request(`/v1/traces?${query}`);
  expect({ status: reply.status, body: reply.json }).toMatchObject({
    status: 400,
    body: { error: { type: 'invalid_request_error', param, code: 'invalid_parameter' } },
  });
});

test('?wait= over 240 is 400', async () => {
  const service = await startService();
  const reply = await service.request(`/v1/traces/${'0'.repeat(32)}?wait=241`);
  expect({ status: reply.status, body: reply.json }).toEqual({
    status: 400,
    body: {
      error: {
        message: 'wait has to be an integer from 0 to 240, got 241.',
        type: 'invalid_request_error',
        param: 'wait',
        code: 'invalid_parameter',
      },
    },
  });
});

test.each(['0'.repeat(32), 'nonsense', '0'.repeat(31)])('the trace %s is not found', async (traceId) => {
  const service = await startService();
  for (const [path, method] of [
    [`/v1/traces/${traceId}`, 'GET'],
    [`/v1/traces/${traceId}/cancel`, 'POST'],
  ] as const) {
    const reply = await service.request(path, { method });
    expect({ status: reply.status, body: reply.json }).toEqual({
      status: 404,
      body: {
        error: {
          message: `There is no trace "${traceId}". GET /v1/traces lists those of this account.`,
          type: 'not_found_error',
          param: null,
          code: 'trace_not_found',
        },
      },
    });
  }
});

test('scenarios and tools of an unknown environment are not found, with no field at fault', async () => {
  const service = await startService();
  for (const list of ['scenarios', 'tools']) {
    const reply = await service.request(`/v1/environments/nope/${list}`);
    expect({ status: reply.status, body: reply.json }).toMatchObject({
      status: 404,
      body: { error: { code: 'env_not_found', param: null } },
    });
  }
});

test('a blob that does not exist is not found', async () => {
  const service = await startService();
  const reply = await service.request(`/v1/blobs/${'a'.repeat(64)}`);
  expect({ status: reply.status, body: reply.json }).toMatchObject({
    status: 404,
    body: { error: { code: 'blob_not_found', param: null } },
  });
});

test('binding elsewhere than loopback is refused without a key; the key "local" is not enough', async () => {
  const parts = await openParts();
  await parts.accounts.createKey({ name: 'local' });
  const start = () =>
    startRunService({
      ...parts,
      environments: new Map(),
      models: createModels({}),
      host: '0.0.0.0',
      port: 0,
      appUrl: APP_URL,
      logger: pino({ level: 'silent' }),
      worker: false,
    });
  await expect(start()).rejects.toThrow('make one with "proctor keys create --name <name>"');
  await parts.accounts.createKey({ name: 'team' });
  const service = await start();
  await service.close();
});
