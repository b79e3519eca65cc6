import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { traceListSchema } from '../../../src/contract/service/trace.ts';
import { deferred } from '../../support/http/http-server.ts';
import { BROKEN, COUNTER, startService, type TestService } from './service.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 120_000 });

async function expectRefused(service: TestService, body: object, status: number, error: object): Promise<void> {
  const reply = await service.run(body);
  expect({ status: reply.status, body: reply.json }).toEqual({ status, body: { error } });
  expect(await service.countRuns()).toBe(0);
}

const invalid = (param: string, message: string, code = 'invalid_parameter') =>
  ({ message, type: 'invalid_request_error', param, code }) as const;

test.each([
  [
    { env_name: undefined },
    invalid('env_name', 'env_name is required: a string that is not empty.', 'missing_required_parameter'),
  ],
  [
    { scenario_name: undefined },
    invalid('scenario_name', 'scenario_name is required: a string that is not empty.', 'missing_required_parameter'),
  ],
  [
    { model: undefined },
    invalid('model', 'model is required: a string of 1 to 512 characters.', 'missing_required_parameter'),
  ],
  [{ model: 'a\0b' }, invalid('model', 'model has to be a string of 1 to 512 characters, got "a\\u0000b".')],
  [
    { model: 'm'.repeat(513) },
    invalid('model', `model has to be a string of 1 to 512 characters, got "${'m'.repeat(76)}....`),
  ],
  [{ env_name: 7 }, invalid('env_name', 'env_name has to be a string that is not empty, got 7.')],
  [{ scenario_args: null }, invalid('scenario_args', 'scenario_args has to be an object, got null.')],
  [{ scenario_args: [] }, invalid('scenario_args', 'scenario_args has to be an object, got [].')],
  [{ max_steps: 0 }, invalid('max_steps', 'max_steps has to be an integer from 1 to 500, got 0.')],
  [{ max_steps: 501 }, invalid('max_steps', 'max_steps has to be an integer from 1 to 500, got 501.')],
  [{ max_steps: '5' }, invalid('max_steps', 'max_steps has to be an integer from 1 to 500, got "5".')],
  [{ max_steps: 1.5 }, invalid('max_steps', 'max_steps has to be an integer from 1 to 500, got 1.5.')],
  [{ timeout_seconds: 0 }, invalid('timeout_seconds', 'timeout_seconds has to be an integer from 1 to 86400, got 0.')],
  [
    { timeout_seconds: 86_401 },
    invalid('timeout_seconds', 'timeout_seconds has to be an integer from 1 to 86400, got 86401.'),
  ],
  [{ priority: 10 }, invalid('priority', 'priority has to be an integer from 0 to 9, got 10.')],
  [{ seed: 0.5 }, invalid('seed', 'seed has to be a safe integer, got 0.5.')],
  [
    { metadata: JSON.parse('{"__proto__":"x"}') },
    invalid(
      'metadata.__proto__',
      'metadata.__proto__ has to be called otherwise, since no member of an object may have this name, got "x".',
    ),
  ],
  [
    { sampling: JSON.parse('{"extra":[{"__proto__":1}]}') },
    invalid(
      'sampling.extra.0.__proto__',
      'sampling.extra.0.__proto__ has to be called otherwise, since no member of an object may have this name, got 1.',
    ),
  ],
  [
    { scenario_args: { target: 3, constructor: 1 } },
    invalid(
      'scenario_args.constructor',
      'Scenario "count_to": scenario_args.constructor is not an argument that exists. Its arguments are target.',
      'invalid_scenario_args',
    ),
  ],
  [{ metadata: { build: 7 } }, invalid('metadata.build', 'metadata.build has to be a string, got 7.')],
  [{ sampling: 'hot' }, invalid('sampling', 'sampling has to be an object, got "hot".')],
])('the body %j is refused, and no run exists', async (body, error) => {
  await expectRefused(await startService(), body, 400, error);
});

test('an unknown environment is refused with those that exist', async () => {
  await expectRefused(await startService(), { env_name: 'countr' }, 404, {
    message: 'No environment is named "countr". Did you mean "counter"? Environments: counter.',
    type: 'not_found_error',
    param: 'env_name',
    code: 'env_not_found',
  });
});

test('an unknown scenario is refused with those that exist', async () => {
  await expectRefused(await startService(), { scenario_name: 'count' }, 404, {
    message: 'The environment "counter" has no scenario "count". Scenarios: count_to, slow_count.',
    type: 'not_found_error',
    param: 'scenario_name',
    code: 'scenario_not_found',
  });
});

test.each([
  [{}, 'scenario_args.target', 'Scenario "count_to": scenario_args.target is required. Its arguments are target.'],
  [
    { target: -1 },
    'scenario_args.target',
    'Scenario "count_to": scenario_args.target must be >= 0, got -1. Its arguments are target.',
  ],
  [
    { target: '3' },
    'scenario_args.target',
    'Scenario "count_to": scenario_args.target must be integer, got "3". Its arguments are target.',
  ],
  [
    { target: 3, goal: 4 },
    'scenario_args.goal',
    'Scenario "count_to": scenario_args.goal is not an argument that exists. Its arguments are target.',
  ],
])('the arguments %j fail the schema of the scenario and are refused by name', async (scenarioArgs, param, message) => {
  await expectRefused(await startService(), { scenario_args: scenarioArgs }, 400, {
    message,
    type: 'invalid_request_error',
    param,
    code: 'invalid_scenario_args',
  });
});

test('an unknown reference model is refused, and any name while no gateway is configured, with what to set', async () => {
  const service = await startService();
  const notFound = { type: 'not_found_error', param: 'model', code: 'model_not_found' };
  await expectRefused(service, { model: 'proctor/oracel' }, 404, {
    message: expect.stringContaining('proctor/oracle'),
    ...notFound,
  });
  await expectRefused(service, { model: 'gpt-5' }, 404, {
    message: expect.stringContaining('PROCTOR_GATEWAY_URL'),
    ...notFound,
  });
});

test('the environment is checked first, then the scenario, its arguments and the model', async () => {
  const service = await startService();
  const codes = [];
  for (const body of [
    { env_name: 'x', scenario_name: 'y', scenario_args: {}, model: 'gpt-5' },
    { scenario_name: 'y', scenario_args: {}, model: 'gpt-5' },
    { scenario_args: {}, model: 'gpt-5' },
    { model: 'gpt-5' },
  ]) {
    codes.push((await service.run(body)).json);
  }
  expect(codes).toMatchObject(
    ['env_not_found', 'scenario_not_found', 'invalid_scenario_args', 'model_not_found'].map((code) => ({
      error: { code },
    })),
  );
});

test('a message names at most 20 arguments, and of a value its beginning', async () => {
  const service = await startService();
  const args = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`extra${index}`, index]));
  await expectRefused(service, { scenario_args: { target: 3, ...args } }, 400, {
    message: expect.stringMatching(/scenario_args\.extra19 is not an argument that exists; and 980 more\. Its/),
    type: 'invalid_request_error',
    param: 'scenario_args.extra0',
    code: 'invalid_scenario_args',
  });
  const long = { env_name: 100_000, scenario_name: 100_000, model: 500 };
  for (const [field, length] of Object.entries(long)) {
    const reply = await service.run({ [field]: `proctor/${'x'.repeat(length)}` });
    expect(reply.status).toBe(404);
    expect(reply.text.length).toBeLessThan(1_000);
  }
});

test('an argument with the name of a prototype is refused by name like any other', async () => {
  const service = await startService();
  const body = `{"env_name":"counter","scenario_name":"count_to","scenario_args":{"target":3,"__proto__":{"target":4}},"model":"proctor/oracle"}`;
  const headers = { 'content-type': 'application/json' };
  const reply = await service.request('/v1/agent/run', { method: 'POST', headers, body });
  expect(reply.json).toMatchObject({ error: { code: 'invalid_scenario_args', param: 'scenario_args.__proto__' } });
  expect(await service.countRuns()).toBe(0);
});

test('who waits for an environment while the service shuts down is told that it does', async () => {
  const slow = async () => {
    const starting = deferred<void>();
    // It takes the handshake and never answers.
    const server = createServer(() => starting.resolve()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    return { starting: starting.promise, target: { kind: 'url', url: `http://127.0.0.1:${port}/mcp` } as const };
  };
  const [listed, run] = await Promise.all([slow(), slow()]);
  const service = await startService({
    environments: new Map([
      ['listed', listed.target],
      ['run', run.target],
    ]),
  });
  const waiting = [service.request('/v1/environments/listed/scenarios'), service.run({ env_name: 'run' })];
  await Promise.all([listed.starting, run.starting]);
  await service.close();
  for (const reply of await Promise.all(waiting)) {
    expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    expect(reply.json).toMatchObject({ error: { code: 'shutting_down', param: null } });
  }
});

test('an environment that cannot be started is 502 environment_failed, and the others go on', async () => {
  const service = await startService({
    environments: new Map([
      ['broken', BROKEN],
      ['counter', COUNTER],
    ]),
  });
  await expectRefused(service, { env_name: 'broken', scenario_name: 'any' }, 502, {
    message: expect.stringMatching(/this module cannot be loaded|exited/),
    type: 'upstream_error',
    param: null,
    code: 'environment_failed',
  });
  expect(JSON.stringify((await service.run({ env_name: 'broken' })).json)).not.toContain(process.cwd());
  expect((await service.run()).status).toBe(200);
  const ready = await service.request('/readyz', { headers: { authorization: '' } });
  expect({ status: ready.status, body: ready.json }).toEqual({
    status: 503,
    body: {
      error: {
        message: 'Not ready, these do not answer: environment broken (it cannot be started, the log says why).',
        type: 'server_error',
        param: null,
        code: 'capacity_exceeded',
      },
    },
  });
});

test.each([
  ['sampling', 64 * 1024, { sampling: { note: 'x'.repeat(64 * 1024) } }],
  // Bytes of UTF-8, not characters.
  ['sampling', 64 * 1024, { sampling: { note: 'ü'.repeat(32 * 1024) } }],
  ['scenario_args', 1024 * 1024, { scenario_args: { target: 3, note: 'x'.repeat(1024 * 1024) } }],
])('%s over %i bytes as JSON is 413 request_too_large, and makes no run', async (param, limit, change) => {
  const service = await startService({ worker: false });
  await expectRefused(service, change, 413, {
    message: expect.stringMatching(new RegExp(`^${param} is \\d+ bytes as JSON; at most ${limit} are accepted\\.$`)),
    type: 'invalid_request_error',
    param,
    code: 'request_too_large',
  });
});

test('sampling of exactly 64 KiB is accepted', async () => {
  const service = await startService({ worker: false });
  const sampling = { note: 'x'.repeat(64 * 1024 - '{"note":""}'.length) };
  expect((await service.run({ sampling })).status).toBe(200);
});

test('a page of traces holds at most 8 MiB, and next_cursor goes on to the last of them', async () => {
  const service = await startService({ worker: false });
  for (let count = 0; count < 130; count += 1) await service.run({ sampling: { note: 'x'.repeat(65_000) } });
  const sizes: number[] = [];
  const found = new Set<string>();
  let cursor: string | null = '';
  while (cursor !== null) {
    const reply = await service.request(`/v1/traces?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`);
    const page = traceListSchema.parse(reply.json);
    sizes.push(Buffer.byteLength(reply.text));
    for (const { trace_id } of page.data) found.add(trace_id);
    cursor = page.next_cursor;
  }
  expect(found.size).toBe(130);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(8 * 1024 * 1024);
});

test('a number that JSON cannot hold is named by its place, with the value', async () => {
  const service = await startService({ worker: false });
  const send = (fields: string) =>
    service.request('/v1/agent/run', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `{"env_name":"counter","scenario_name":"count_to","model":"proctor/oracle",${fields}}`,
    });
  expect((await send('"scenario_args":{"target":3},"sampling":{"top":[1,1e400]}')).json).toEqual({
    error: invalid('sampling.top.1', 'sampling.top.1 has to be a number that is finite, got Infinity.'),
  });
  expect((await send('"scenario_args":{"target":1e400}')).json).toMatchObject({
    error: {
      code: 'invalid_scenario_args',
      param: 'scenario_args.target',
      message: expect.stringContaining('Infinity'),
    },
  });
});

test.each(['1e400', '-1e999'])('?min_reward=%s is 400 that names it as it was sent', async (value) => {
  const service = await startService({ worker: false });
  const reply = await service.request(`/v1/traces?min_reward=${value}`);
  expect([reply.status, reply.json]).toEqual([
    400,
    { error: invalid('min_reward', `min_reward has to be a number, got "${value}".`) },
  ]);
});

test('metadata named constructor or toString is kept, and found by it', async () => {
  const service = await startService({ worker: false });
  const metadata = { constructor: 'a', toString: 'b', hasOwnProperty: 'c' };
  const { status } = await service.run({ metadata });
  expect(status).toBe(200);
  const listed = traceListSchema.parse((await service.request('/v1/traces?metadata.constructor=a')).json);
  expect(listed.data.map((trace) => trace.metadata)).toEqual([metadata]);
});
