import { join } from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import type { Trace } from '../../../src/contract/service/trace.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import {
  BROKEN,
  COUNTER,
  openParts,
  startService,
  type TestService,
  TROUBLE,
  TROUBLE_HERE,
  temporaryDirectory,
  traceIdOf,
} from './service.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const environments = new Map<string, EnvironmentTarget>([
  ['trouble', TROUBLE],
  ['trouble_here', TROUBLE_HERE],
  ['counter', COUNTER],
]);

// One service for all: whatever a run did, the next one shows that the service is unharmed.
let service: TestService;
beforeAll(async () => {
  const ends: (() => void | Promise<void>)[] = [];
  const onEnd = (end: () => void | Promise<void>) => void ends.unshift(end);
  const databaseUrl = `sqlite:${join(temporaryDirectory(onEnd), 'proctor.db')}`;
  service = await startService({ environments, parts: await openParts(databaseUrl, onEnd) }, onEnd);
  return async () => {
    for (const end of ends) await end();
  };
});

async function runTrouble(scenario: string, body: object = {}): Promise<Trace> {
  const asked = { env_name: 'trouble', scenario_name: scenario, scenario_args: {}, model: 'proctor/noop', ...body };
  const trace = await service.ended(traceIdOf(await service.run(asked)));
  expect((await service.run({}, { prefer: 'wait=60' })).json).toMatchObject({ status: 'completed', reward: 1 });
  await expect.poll(() => service.queue.counts(), { timeout: 20_000 }).toEqual({ waiting: 0, leased: 0 });
  return trace;
}

test('an environment that exits in setup is a failed trace that says so, with its last words', async () => {
  const trace = await runTrouble('exits_in_setup');
  expect(trace).toMatchObject({
    status: 'failed',
    stop_reason: 'error',
    reward: null,
    evaluation: null,
    attempts: [{ attempt: 1, end: 'failed' }],
    error: {
      boundary: 'environment',
      code: 'environment_failed',
      message: expect.stringMatching(/code 3|leaving now/),
    },
  });
  expect(trace.logs).toContainEqual(expect.objectContaining({ message: expect.stringContaining('leaving now') }));
});

test('an environment that throws in setup is a failed trace that says so', async () => {
  expect(await runTrouble('throws_in_setup')).toMatchObject({
    status: 'failed',
    stop_reason: 'error',
    error: { boundary: 'setup', code: 'environment_failed', message: expect.stringContaining('throws_in_setup') },
  });
});

test('an environment that hangs in setup ends with the time of the run', async () => {
  expect(await runTrouble('hangs_in_setup', { env_name: 'trouble_here', timeout_seconds: 1 })).toMatchObject({
    status: 'failed',
    error: { boundary: 'setup', code: 'environment_failed', message: expect.stringContaining('1 s') },
  });
});

test('garbage on standard output does no harm and is in the logs', async () => {
  const trace = await runTrouble('prints_garbage');
  expect(trace).toMatchObject({ status: 'completed', reward: 1 });
  expect(trace.logs.map((log) => log.message).join('\n')).toContain('more garbage');
});

test('a scenario without a second half is a failed trace, never a reward', async () => {
  expect(await runTrouble('has_no_second_half')).toMatchObject({
    status: 'failed',
    reward: null,
    error: { boundary: 'evaluate', code: 'environment_failed' },
  });
});

test('an evaluation that throws is a failed trace that says so', async () => {
  expect(await runTrouble('throws_in_evaluation')).toMatchObject({
    status: 'failed',
    reward: null,
    error: { boundary: 'evaluate', code: 'environment_failed' },
  });
});

test('a tool that throws under its solution is a failed trace that says so, and its author alone reads why', async () => {
  const trace = await runTrouble('solved_by_a_tool_that_throws', { model: 'proctor/oracle' });
  expect(trace).toMatchObject({ status: 'failed', reward: null, error: { boundary: 'setup' } });
  expect(trace.steps[0]?.tool_results[0]).toMatchObject({ name: 'fail', is_error: true });
  expect(JSON.stringify(trace.steps)).not.toContain('the disk is on fire');
});

test('an environment that exits in a tool is a failed trace that says so', async () => {
  const trace = await runTrouble('exits_in_a_tool', { model: 'proctor/oracle' });
  expect(trace).toMatchObject({ status: 'failed', stop_reason: 'error', reward: null, attempt: 1 });
  expect(trace.error).toMatchObject({ boundary: 'environment', message: expect.stringMatching(/exited|code 7/) });
});

test('an environment that cannot be started any more is a failed trace that says so', async () => {
  const accepting = await startService({ worker: false });
  const traceId = traceIdOf(await accepting.run());
  await startService({ parts: accepting, environments: new Map([['counter', BROKEN]]) });
  expect(await accepting.ended(traceId)).toMatchObject({
    status: 'failed',
    error: { boundary: 'environment', code: 'environment_failed' },
  });
});
