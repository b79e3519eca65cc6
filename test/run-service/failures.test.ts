import { expect, test } from 'vitest';
import { BROKEN, COUNTER, startService, TROUBLE, traceIdOf } from './service.ts';

const environments = new Map([
  ['trouble', TROUBLE],
  ['counter', COUNTER],
]);

async function runTrouble(scenario: string, body: object = {}) {
  const service = await startService({ environments });
  const asked = { env_name: 'trouble', scenario_name: scenario, scenario_args: {}, model: 'proctor/noop', ...body };
  const trace = await service.ended(traceIdOf(await service.run(asked)));
  // Whatever it did, the service is unharmed.
  expect((await service.run({}, { prefer: 'wait=60' })).json).toMatchObject({ status: 'completed', reward: 1 });
  expect(await service.queue.counts()).toEqual({ waiting: 0, leased: 0 });
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
    error: { boundary: 'setup', code: 'environment_failed', message: expect.stringMatching(/code 3|leaving now/) },
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
  expect(await runTrouble('hangs_in_setup', { timeout_seconds: 1 })).toMatchObject({
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

test('a tool that throws: the model is told, and the run goes on', async () => {
  const trace = await runTrouble('survives_a_tool', { model: 'proctor/oracle' });
  expect(trace).toMatchObject({ status: 'completed', reward: 1 });
  expect(trace.steps[0]?.tool_results[0]).toMatchObject({ name: 'fail', is_error: true });
  expect(JSON.stringify(trace.steps)).not.toContain('the disk is on fire');
});

test('an environment that exits in a tool is a failed trace that says so', async () => {
  const trace = await runTrouble('exits_in_a_tool', { model: 'proctor/oracle' });
  expect(trace).toMatchObject({ status: 'failed', stop_reason: 'error', reward: null });
  expect(trace.error?.message).toMatch(/exited|code 7/);
});

test('an environment that a worker does not have is a failed trace that says so', async () => {
  const service = await startService({ worker: false });
  const traceId = traceIdOf(await service.run());
  await startService({ parts: service, environments: new Map() });
  expect(await service.ended(traceId)).toMatchObject({
    status: 'failed',
    error: { boundary: 'environment', code: 'env_not_found', message: 'This worker has no environment "counter"' },
  });
});

test('an environment that cannot be started any more is a failed trace that says so', async () => {
  const service = await startService({ worker: false });
  const traceId = traceIdOf(await service.run());
  await startService({ parts: service, environments: new Map([['counter', BROKEN]]) });
  expect(await service.ended(traceId)).toMatchObject({
    status: 'failed',
    error: { boundary: 'environment', code: 'environment_failed' },
  });
});
