import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { deferred } from '../http/http-server.ts';
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
  [{ metadata: { build: 7 } }, invalid('metadata.build', 'metadata.build has to be a string, got 7.')],
  [{ sampling: 'hot' }, invalid('sampling', 'sampling has to be an object, got "hot".')],
])('the body %j is refused, and no run exists', async (body, error) => {
  await expectRefused(await startService(), body, 400, error);
});

test('an unknown environment is refused with those that exist', async () => {
  await expectRefused(await startService(), { env_name: 'countr' }, 404, {
    message: 'No environment is named "countr". Environments: counter.',
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
        message: 'Not ready, these do not answer: environment broken.',
        type: 'server_error',
        param: null,
        code: 'capacity_exceeded',
      },
    },
  });
});
