import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { ConnectOptions } from '../../src/client/environment-client.ts';
import { BoundaryError } from '../../src/contract/errors.ts';
import { eventBodySchema } from '../../src/contract/event.ts';
import type { ReferenceContext, SolutionStepResult } from '../../src/model/chat-model.ts';
import { executeRun } from '../../src/rollout/execute-run.ts';
import { RunInterrupted } from '../../src/rollout/run.ts';
import type { ToolMessage } from '../../src/rollout/transcript.ts';
import { AttemptSupersededError } from '../../src/trace/trace-store.ts';
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
  textResult,
  untilAborted,
} from './fixtures.ts';

describe('a run that goes well', () => {
  it('is answered, evaluated and completed, and the environment is closed', async () => {
    const client = counterClient();
    const recorder = listRecorder();
    const model = scripted(calls(call('increment')), calls(call('increment')), says('Counted to 2.'));
    const outcome = await executeRun(runOptions(client, model, recorder));
    expect(outcome).toEqual({
      status: 'completed',
      stopReason: 'answered',
      answer: 'Counted to 2.',
      reward: 1,
      error: null,
    });
    expect(client.isClosed).toBe(true);
    expect(client.asked).toEqual(['setup', 'increment', 'increment', 'evaluate "Counted to 2."', 'close']);
  });

  it('writes the events of the contract in its order, each as its schema says', async () => {
    const recorder = listRecorder();
    await executeRun(runOptions(counterClient(), scripted(calls(call('increment')), says('Done.')), recorder));
    expect(recorder.events.map((event) => event.type)).toEqual([
      'run.started',
      'environment.ready',
      'setup.completed',
      'turn.started',
      'model.requested',
      'model.responded',
      'tool.called',
      'tool.responded',
      'model.requested',
      'model.responded',
      'turn.finished',
      'answer.submitted',
      'evaluation.completed',
      'run.finished',
    ]);
    for (const event of recorder.events) expect(eventBodySchema.parse(event)).toEqual(event);
  });

  it('names the versions of the environment, of the protocol, of Proctor and of Node.js', async () => {
    const recorder = listRecorder();
    const options = runOptions(counterClient(), scripted(says('')), recorder, { environmentHash: 'abc' });
    await executeRun(options);
    expect(recorder.of('environment.ready')[0]).toMatchObject({
      name: 'counter',
      versions: {
        proctor: expect.stringMatching(/^\d+\.\d+\.\d+/),
        environment: '1.2.3',
        environment_hash: 'abc',
        protocol: '2025-11-25',
        node: process.versions.node,
      },
    });
    expect(recorder.of('run.started')[0]).toMatchObject({
      worker: 'worker-1',
      versions: { environment: null, protocol: null },
    });
  });

  it('has one turn, whose messages are those of the prompt', async () => {
    const recorder = listRecorder();
    await executeRun(runOptions(counterClient(), scripted(says('Hm.')), recorder));
    expect(recorder.of('turn.started')).toEqual([
      { type: 'turn.started', turn: 1, messages: [{ role: 'user', content: 'Count to two.' }] },
    ]);
  });

  it('forwards sampling and seed to the model, and the logs of the environment to the trace', async () => {
    const recorder = listRecorder();
    const model = scripted(says('Hm.'));
    const client = counterClient();
    const request = runRequest({ sampling: { temperature: 0 }, seed: 7 });
    const connect = async ({ onLog }: ConnectOptions) => {
      onLog?.({ level: 'info', logger: 'environment', message: 'ready to count' });
      return client;
    };
    await executeRun(runOptions(client, model, recorder, { request, connect }));
    expect(model.requests[0]?.sampling).toEqual({ temperature: 0, seed: 7 });
    expect(recorder.of('log')).toEqual([
      { type: 'log', level: 'info', logger: 'environment', message: 'ready to count' },
    ]);
  });

  it.each([
    ['lines', 'a line', 10_000],
    ['text', 'x'.repeat(1024 * 1024), 4],
  ])('keeps of an environment that logs without end so many %s, and says so once', async (_what, message, kept) => {
    const recorder = listRecorder();
    const client = counterClient();
    const connect = async ({ onLog }: ConnectOptions) => {
      for (let line = 0; line < kept + 50; line += 1) onLog?.({ level: 'info', logger: 'environment', message });
      return client;
    };
    await executeRun({ ...runOptions(client, scripted(says('Done.')), recorder), connect });
    const logs = recorder.of('log');
    expect(logs).toHaveLength(kept + 1);
    expect(logs[kept - 1]).toMatchObject({ level: 'info', message });
    expect(logs.at(-1)).toMatchObject({
      level: 'warning',
      logger: 'proctor',
      message: expect.stringContaining('is not kept'),
    });
  });

  it('drops what the environment logs after the run has its final state', async () => {
    const recorder = listRecorder();
    let log: ConnectOptions['onLog'];
    const client = counterClient();
    const close = client.close.bind(client);
    client.close = async () => {
      log?.({ level: 'info', logger: 'environment', message: 'closing' });
      await close();
    };
    const connect = async ({ onLog }: ConnectOptions) => {
      log = onLog;
      return client;
    };
    await executeRun(runOptions(client, scripted(says('')), recorder, { connect }));
    expect(recorder.events.at(-1)?.type).toBe('run.finished');
    expect(client.isClosed).toBe(true);
  });

  it('lets a reference model ask for the solution, with the results of the calls so far', async () => {
    const asked: unknown[] = [];
    const client = counterClient({
      solution: async (scenario, args, results) => {
        asked.push({ scenario, args, results });
        return { calls: [], answer: 'ok', done: true };
      },
    });
    let context: ReferenceContext | undefined;
    const model = scripted(calls(call('increment')), async ({ messages, signal }) => {
      const results = messages.flatMap((message) => (message.role === 'tool' ? [toSolutionResult(message)] : []));
      const solution = await context?.solution(results, signal);
      return says(String(solution?.answer));
    });
    const createModel = (_name: string, given: ReferenceContext) => {
      context = given;
      return model;
    };
    const outcome = await executeRun(
      runOptions(client, model, listRecorder(), { createModel, request: runRequest({ seed: 3 }) }),
    );
    expect(outcome).toMatchObject({ status: 'completed', answer: 'ok' });
    expect(context?.seed).toBe(3);
    expect(asked).toEqual([
      {
        scenario: 'count_to',
        args: { target: 2 },
        results: [{ content: [{ type: 'text', text: '1' }], structured_content: { count: 1 }, is_error: false }],
      },
    ]);
  });
});

describe('a run that ends before its answer', () => {
  it('runs and answers the calls of the last response after max_steps, and submits the last text', async () => {
    const client = counterClient();
    const recorder = listRecorder();
    const thinking = { ...calls(call('increment')), finishReason: 'tool_calls' as const };
    const model = scripted(
      { ...thinking, message: { ...thinking.message, content: 'I count.' } },
      calls(call('increment')),
    );
    const outcome = await executeRun(runOptions(client, model, recorder, { request: runRequest({ max_steps: 2 }) }));
    expect(outcome).toEqual({
      status: 'completed',
      stopReason: 'max_steps',
      answer: 'I count.',
      reward: 1,
      error: null,
    });
    expect(recorder.of('tool.responded')).toHaveLength(2);
    expect(recorder.of('turn.finished')[0]?.status).toBe('max_steps');
  });

  it('is evaluated with the text so far after length', async () => {
    const outcome = await executeRun(
      runOptions(counterClient(), scripted(says('The answer is', 'length')), listRecorder()),
    );
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'length', answer: 'The answer is', reward: 0 });
  });

  it('is evaluated after its time is over, also where the tool does not listen', async () => {
    const client = counterClient({ onCall: (name) => (name === 'read' ? forever() : undefined) });
    const recorder = listRecorder();
    const model = scripted(calls(call('increment')), calls(call('increment')), calls(call('read')));
    const request = runRequest({ timeout_seconds: 0.05 });
    const outcome = await executeRun(runOptions(client, model, recorder, { request }));
    expect(outcome).toEqual({ status: 'completed', stopReason: 'timeout', answer: '', reward: 1, error: null });
    expect(recorder.of('turn.finished')[0]?.status).toBe('aborted');
    expect(recorder.of('tool.responded').at(-1)).toMatchObject({
      is_error: true,
      content: [{ type: 'text', text: expect.stringContaining('time of 50 ms is over') }],
    });
  });

  it('has a grace time of its own for the evaluation', async () => {
    const recorder = listRecorder();
    const client = counterClient({ onEvaluate: () => setTimeout(20, { reward: 0.5 }) });
    const request = runRequest({ timeout_seconds: 0.02 });
    const outcome = await executeRun(runOptions(client, scripted(forever), recorder, { request }));
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'timeout', reward: 0.5 });
  });

  it('fails where the grace time is not enough for the evaluation', async () => {
    const client = counterClient({ onEvaluate: (_answer, signal) => untilAborted(signal) });
    const outcome = await executeRun(
      runOptions(client, scripted(forever), listRecorder(), {
        request: runRequest({ timeout_seconds: 0.02 }),
        limits: { graceMs: 20 },
      }),
    );
    expect(outcome).toMatchObject({
      status: 'failed',
      stopReason: 'error',
      reward: null,
      error: { boundary: 'evaluate', message: expect.stringContaining('did not end within') },
    });
    expect(client.isClosed).toBe(true);
  });
});

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

describe('a run that is interrupted', () => {
  const cancel = () => new RunInterrupted('cancelled');
  const cancelled = { status: 'cancelled', stopReason: 'cancelled', reward: null, error: null };

  it.each(['connect', 'setup', 'model', 'tool', 'evaluate'] as const)(
    'is cancelled in %s: no evaluation counts, the environment is closed',
    async (phase) => {
      const interruption = new AbortController();
      const stopHere = async (signal: AbortSignal): Promise<never> => {
        interruption.abort(cancel());
        return await untilAborted(signal.aborted ? AbortSignal.abort(signal.reason) : signal);
      };
      const client = counterClient({
        ...(phase === 'setup' && { onSetup: stopHere }),
        ...(phase === 'tool' && { onCall: (_name: string, _args: object, signal: AbortSignal) => stopHere(signal) }),
        ...(phase === 'evaluate' && { onEvaluate: (_answer: unknown, signal: AbortSignal) => stopHere(signal) }),
      });
      const recorder = listRecorder();
      const model = scripted(
        ({ signal }) => (phase === 'model' ? stopHere(signal) : calls(call('increment'), call('read'))),
        says('Done.'),
      );
      const connect = async ({ signal }: ConnectOptions) =>
        phase === 'connect' && signal !== undefined ? await stopHere(signal) : client;
      const outcome = await executeRun(runOptions(client, model, recorder, { signal: interruption.signal, connect }));
      expect(outcome).toMatchObject(cancelled);
      expect(recorder.of('evaluation.completed')).toEqual([]);
      expect(recorder.events.at(-1)).toEqual({
        type: 'run.finished',
        status: 'cancelled',
        stop_reason: 'cancelled',
        reward: null,
        error: null,
      });
      expect(recorder.of('tool.responded')).toHaveLength(recorder.of('tool.called').length);
      if (phase !== 'connect') expect(client.isClosed).toBe(true);
    },
  );

  it('is not evaluated when it is cancelled in its turn', async () => {
    const interruption = new AbortController();
    const client = counterClient();
    const model = scripted(() => {
      interruption.abort(cancel());
      return forever();
    });
    await executeRun(runOptions(client, model, listRecorder(), { signal: interruption.signal }));
    expect(client.asked).toEqual(['setup', 'close']);
  });

  it('is cancelled where it was cancelled before it began', async () => {
    const outcome = await executeRun(
      runOptions(counterClient(), scripted(), listRecorder(), { signal: AbortSignal.abort(cancel()) }),
    );
    expect(outcome).toMatchObject(cancelled);
  });

  it('is given back without run.finished where the worker stops', async () => {
    const interruption = new AbortController();
    const client = counterClient();
    const recorder = listRecorder();
    const model = scripted(calls(call('increment')), () => {
      interruption.abort(new RunInterrupted('released'));
      return forever();
    });
    const outcome = await executeRun(runOptions(client, model, recorder, { signal: interruption.signal }));
    expect(outcome).toEqual({ status: 'released' });
    expect(recorder.of('run.finished')).toEqual([]);
    expect(client.isClosed).toBe(true);
  });
});

describe('a run that cannot be recorded', () => {
  const superseded = new AttemptSupersededError('0'.repeat(32), 1);

  it('stops at once and says who has it, while a tool still runs', async () => {
    const recorder = listRecorder();
    const client = counterClient({
      onCall: (_name, _args, signal) => {
        recorder.failWith(superseded);
        return untilAborted(signal);
      },
    });
    const model = scripted(calls(call('increment')));
    await expect(executeRun(runOptions(client, model, recorder))).rejects.toBe(superseded);
    expect(client.asked).toEqual(['setup', 'increment', 'close']);
  });

  it('is not evaluated where the failure shows when the turn ends', async () => {
    const recorder = listRecorder();
    const client = counterClient();
    const model = scripted(() => {
      recorder.failWith(superseded);
      return says('Done.');
    });
    await expect(executeRun(runOptions(client, model, recorder))).rejects.toBe(superseded);
    expect(client.asked).toEqual(['setup', 'close']);
  });

  it('rejects where its final state cannot be written, and closes the environment', async () => {
    const recorder = listRecorder();
    const full = new Error('database or disk is full');
    const client = counterClient({
      onEvaluate: () => {
        recorder.failWith(full);
        return {};
      },
    });
    await expect(executeRun(runOptions(client, scripted(says('')), recorder))).rejects.toBe(full);
    expect(client.isClosed).toBe(true);
  });

  it('tells the model of a tool that failed, and goes on', async () => {
    const client = counterClient({ onCall: () => textResult('The counter is stuck', true) });
    const model = scripted(calls(call('increment')), says('It is stuck.'));
    const outcome = await executeRun(runOptions(client, model, listRecorder()));
    expect(outcome).toMatchObject({ status: 'completed', answer: 'It is stuck.', reward: 0 });
  });
});

function toSolutionResult(message: ToolMessage): SolutionStepResult {
  const { content, structured_content = null, is_error } = message;
  return { content, structured_content, is_error };
}
