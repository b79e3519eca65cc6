import { describe, expect, it } from 'vitest';
import { BoundaryError } from '../../../src/contract/errors.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import {
  call,
  calls,
  counterClient,
  forever,
  listRecorder,
  runOptions,
  runRequest,
  says,
  scripted,
  untilAborted,
} from './fixtures.ts';

describe('a run that fails', () => {
  it('is failed by an environment that does not start, and says so', async () => {
    const recorder = listRecorder();
    const connect = async () => {
      throw new BoundaryError('environment', 'environment_failed', 'The process ended with code 1 at its start');
    };
    const outcome = await executeRun(runOptions(counterClient(), scripted(), recorder, { connect }));
    const error = {
      boundary: 'environment',
      code: 'environment_failed',
      message: 'The process ended with code 1 at its start',
    };
    expect(outcome).toEqual({ status: 'failed', stopReason: 'error', answer: null, reward: null, error });
    expect(recorder.events.map((event) => event.type)).toEqual(['run.started', 'run.finished']);
    expect(recorder.of('run.finished')[0]).toEqual({
      type: 'run.finished',
      status: 'failed',
      stop_reason: 'error',
      reward: null,
      error,
    });
  });

  it('is failed by a model name that cannot be used, before an environment is started', async () => {
    let connects = 0;
    const client = counterClient();
    const outcome = await executeRun(
      runOptions(client, scripted(), listRecorder(), {
        connect: async () => {
          connects += 1;
          return client;
        },
        createModel: () => {
          throw new BoundaryError('model', 'model_not_found', 'There is no model proctor/nobody');
        },
      }),
    );
    expect(outcome).toMatchObject({ status: 'failed', error: { boundary: 'model', code: 'model_not_found' } });
    expect(connects).toBe(0);
  });

  it('is failed by a setup that throws, and closes the environment', async () => {
    const client = counterClient({
      onSetup: () => {
        throw new BoundaryError('setup', 'environment_failed', 'The database is missing');
      },
    });
    const outcome = await executeRun(runOptions(client, scripted(), listRecorder()));
    expect(outcome).toMatchObject({
      status: 'failed',
      reward: null,
      error: { boundary: 'setup', message: 'The database is missing' },
    });
    expect(client.asked).toEqual(['setup', 'close']);
  });

  it('is failed by a setup that hangs, after its limit', async () => {
    const client = counterClient({ onSetup: forever });
    const outcome = await executeRun(runOptions(client, scripted(), listRecorder(), { limits: { setupMs: 20 } }));
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { boundary: 'setup', message: 'The setup of scenario count_to did not end within 20 ms' },
    });
    expect(client.isClosed).toBe(true);
  });

  it('is failed where its time is over before the scenario was set up', async () => {
    const client = counterClient({ onSetup: untilAborted });
    const request = runRequest({ timeout_seconds: 0.02 });
    const outcome = await executeRun(runOptions(client, scripted(), listRecorder(), { request }));
    expect(outcome).toMatchObject({
      status: 'failed',
      stopReason: 'error',
      error: { boundary: 'setup', message: expect.stringContaining('before the scenario was set up') },
    });
  });

  it('closes an environment that was connected after nobody waited any more', async () => {
    const client = counterClient();
    let connected: () => void = () => {};
    const connect = () =>
      new Promise<typeof client>((resolve) => {
        connected = () => resolve(client);
      });
    const request = runRequest({ timeout_seconds: 0.02 });
    const outcome = await executeRun(runOptions(client, scripted(), listRecorder(), { request, connect }));
    expect(outcome).toMatchObject({ status: 'failed', error: { boundary: 'environment' } });
    expect(client.isClosed).toBe(false);
    connected();
    await expect.poll(() => client.isClosed).toBe(true);
  });

  it('is failed by a model that fails midway; the evaluation is kept apart and the reward is null', async () => {
    const client = counterClient();
    const recorder = listRecorder();
    const model = scripted(
      calls(call('increment')),
      calls(call('increment')),
      new BoundaryError('model', 'model_failed', 'The gateway answered 500'),
    );
    const outcome = await executeRun(runOptions(client, model, recorder));
    expect(outcome).toEqual({
      status: 'failed',
      stopReason: 'error',
      answer: '',
      reward: null,
      error: { boundary: 'model', code: 'model_failed', message: 'The gateway answered 500' },
    });
    expect(recorder.of('turn.finished')[0]?.status).toBe('failed');
    expect(recorder.of('evaluation.completed')[0]?.evaluation.reward).toBe(1);
    expect(recorder.of('run.finished')[0]?.reward).toBeNull();
  });

  it('names the model where it throws something that is no error of ours', async () => {
    const outcome = await executeRun(
      runOptions(counterClient(), scripted(new TypeError('fetch failed')), listRecorder()),
    );
    expect(outcome).toMatchObject({
      error: { boundary: 'model', code: 'model_failed', message: 'The model scripted failed: fetch failed' },
    });
  });

  it('is failed by an environment that dies in a tool call; every call has a result', async () => {
    const gone = new BoundaryError('environment', 'environment_failed', 'The environment ended with code 9');
    const client = counterClient({
      onCall: () => {
        throw gone;
      },
      onEvaluate: () => {
        throw gone;
      },
    });
    const recorder = listRecorder();
    const model = scripted(calls(call('increment'), call('increment')));
    const outcome = await executeRun(runOptions(client, model, recorder));
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { boundary: 'environment', message: 'The environment ended with code 9' },
    });
    expect(recorder.of('tool.called')).toHaveLength(2);
    expect(recorder.of('tool.responded').map((event) => event.is_error)).toEqual([true, true]);
    expect(recorder.of('log').at(-1)?.message).toContain('evaluation after the failure failed too');
    expect(client.asked).toEqual(['setup', 'increment', 'evaluate ""', 'close']);
  });

  it('is failed by an evaluation that fails, with the answer that was submitted', async () => {
    const client = counterClient({
      onEvaluate: () => {
        throw new BoundaryError('evaluate', 'environment_failed', 'The scenario gave no evaluation');
      },
    });
    const recorder = listRecorder();
    const outcome = await executeRun(runOptions(client, scripted(says('Done.')), recorder));
    expect(outcome).toEqual({
      status: 'failed',
      stopReason: 'error',
      answer: 'Done.',
      reward: null,
      error: { boundary: 'evaluate', code: 'environment_failed', message: 'The scenario gave no evaluation' },
    });
    expect(recorder.of('evaluation.completed')).toEqual([]);
  });

  it('is failed by an evaluation that hangs, after its limit', async () => {
    const client = counterClient({ onEvaluate: forever });
    const outcome = await executeRun(
      runOptions(client, scripted(says('Done.')), listRecorder(), { limits: { evaluateMs: 20 } }),
    );
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { boundary: 'evaluate', message: 'The evaluation of scenario count_to did not end within 20 ms' },
    });
  });

  it('is failed by an answer schema that cannot be used, before the model is asked', async () => {
    const client = counterClient({ setup: { answer_schema: { type: 'nonsense' } } });
    const model = scripted(says('5'));
    const outcome = await executeRun(runOptions(client, model, listRecorder()));
    expect(outcome).toMatchObject({
      status: 'failed',
      error: { boundary: 'setup', message: expect.stringContaining('answer schema of scenario count_to') },
    });
    expect(model.requests).toEqual([]);
  });
});
