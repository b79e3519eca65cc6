import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventBodySchema } from '../../../src/contract/service/event.ts';
import type { ConnectOptions } from '../../../src/environment/client/environment-client.ts';
import type { ReferenceContext, SolutionStepResult } from '../../../src/models/gateway/chat-model.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import type { ToolMessage } from '../../../src/rollout/session/transcript.ts';
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

function toSolutionResult(message: ToolMessage): SolutionStepResult {
  const { content, structured_content = null, is_error } = message;
  return { content, structured_content, is_error };
}
