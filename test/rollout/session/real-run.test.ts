import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EnvironmentServer, type NoArgs } from 'proctor';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { EventOf } from '../../../src/contract/service/event.ts';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { OracleModel } from '../../../src/models/gateway/reference/oracle-model.ts';
import { executeRun } from '../../../src/rollout/session/execute-run.ts';
import { RunInterrupted, type RunOptions, type RunOutcome } from '../../../src/rollout/session/run.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { createRecorder } from '../../../src/store/traces/event-recorder.ts';
import { AttemptSupersededError, type TraceStore } from '../../../src/store/traces/trace-store.ts';
import { call, calls, forever, gate, type Line, runRequest, says, scripted } from './fixtures.ts';

const numberAnswer = z.object({ count: z.int() });
const traceId = 'a'.repeat(32);
let folder: string;
let database: Database;
let store: TraceStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'proctor-rollout-'));
  database = await openDatabase(`sqlite:${join(folder, 'traces.db')}`);
  store = createTraceStore(database, { appUrl: 'http://127.0.0.1:8320' });
});

afterEach(async () => {
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

function noDatabase(): [] {
  throw new Error('There is no database');
}

/** A counter whose closing can be seen, and whose parts can be made to fail. */
function counterEnvironment(closed: string[], onWait: () => void) {
  return () => {
    let count = 0;
    const environment = new EnvironmentServer({ name: 'counter', version: '1.2.3' });
    environment.tool('increment', { args: { by: z.int().default(1) } }, ({ by }) => {
      count += by;
      return count;
    });
    environment.tool('read', { annotations: { readOnlyHint: true } }, () => ({ count }));
    environment.tool('break', {}, () => {
      throw new Error('secret: the table is locked');
    });
    environment.tool('wait', {}, async (_args, { signal }) => {
      onWait();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      closed.push('tool');
    });
    environment.scenario(
      'count_to',
      {
        args: { target: z.int().min(0) },
        system: 'You count.',
        solution: ({ target }) => ({ calls: [{ name: 'increment', arguments: { by: target } }], answer: 'Done.' }),
      },
      async function* ({ target }) {
        try {
          yield `Count to ${target}.`;
          return count === target ? 1 : 0;
        } finally {
          closed.push('scenario');
        }
      },
    );
    environment.scenario<NoArgs, typeof numberAnswer>(
      'answer_with_number',
      { answer: numberAnswer, solution: () => ({ calls: [], answer: { count: 4 } }) },
      async function* () {
        const answer = yield 'How many?';
        return { reward: answer.count === 4 ? 1 : 0, info: { answer } };
      },
    );
    environment.scenario('no_grade', {}, async function* () {
      yield 'Nobody grades this.';
      throw new Error('The grader is gone');
    });
    environment.scenario('no_setup', {}, async function* () {
      yield* noDatabase();
      return 0;
    });
    environment.close(() => {
      closed.push('session');
    });
    return environment;
  };
}

async function play(
  lines: readonly Line[] | 'oracle',
  fields: Partial<EventOf<'run.queued'>> = {},
  options: Partial<RunOptions> & { readonly closed?: string[]; onWait?(): void } = {},
): Promise<{ readonly outcome: RunOutcome; readonly trace: Trace }> {
  const request = runRequest({ scenario_args: fields.scenario_name ? {} : { target: 2 }, ...fields });
  const { type: _type, previous_end: _end, ...queued } = request;
  await store.create({ traceId, account: 'local', queued });
  const environment = counterEnvironment(options.closed ?? [], options.onWait ?? (() => {}));
  const outcome = await executeRun({
    request,
    worker: 'worker-1',
    connect: (connectOptions) => connectEnvironment(inMemory(environment), connectOptions),
    createModel: (name, context) => (lines === 'oracle' ? new OracleModel(name, context) : scripted(...lines)),
    recorder: createRecorder(store, traceId, 1),
    signal: new AbortController().signal,
    ...options,
  });
  const trace = await store.trace(traceId);
  if (trace === undefined) throw new Error('The trace is gone');
  return { outcome, trace };
}

describe('a run over MCP and SQLite', () => {
  it('leaves a trace that tells all of it', async () => {
    const lines = [calls(call('increment', { by: 2 })), calls(call('read'), call('read')), says('Counted.')];
    const { outcome, trace } = await play(lines);
    expect(outcome).toMatchObject({ status: 'completed', stopReason: 'answered', answer: 'Counted.', reward: 1 });
    expect(trace).toMatchObject({
      status: 'completed',
      stop_reason: 'answered',
      system: 'You count.',
      prompt: [{ role: 'user', content: 'Count to 2.' }],
      turns: [{ turn: 1, status: 'answered', steps: [1, 2, 3] }],
      answer: 'Counted.',
      reward: 1,
      evaluation: { reward: 1, done: true, is_error: false },
      versions: { environment: '1.2.3', protocol: expect.stringMatching(/^\d{4}-/) },
      error: null,
    });
    expect(trace.tools.map((tool) => tool.name)).toEqual(['increment', 'read', 'break', 'wait']);
    expect(trace.steps.map((step) => step.tool_results.map((result) => result.content))).toEqual([
      [[{ type: 'text', text: '2' }]],
      [[{ type: 'text', text: '{"count":2}' }], [{ type: 'text', text: '{"count":2}' }]],
      [],
    ]);
    expect(trace.usage).toMatchObject({ model_calls: 3, tool_calls: 3 });
  });

  it('is solved by the scenario’s solution', async () => {
    const { trace } = await play('oracle', { model: 'proctor/oracle' });
    expect(trace).toMatchObject({ status: 'completed', answer: 'Done.', reward: 1 });
  });

  it('submits a structured answer as the value that it is', async () => {
    const { trace } = await play('oracle', { scenario_name: 'answer_with_number' });
    expect(trace).toMatchObject({ status: 'completed', answer: { count: 4 }, reward: 1 });
  });

  it('ends the scenario and the session of the environment, in every ending', async () => {
    const closed: string[] = [];
    await play([new Error('no gateway')], {}, { closed });
    expect(closed.toSorted()).toEqual(['scenario', 'session']);
  });

  it.each(['setup', 'evaluate', 'solution', 'nothing'])(
    'tells a model that asks for %s by name that it is unknown, in the words of the server',
    async (name) => {
      const { trace } = await play([calls(call(name, { name: 'count_to' })), says('')]);
      const [result] = trace.steps[0]?.tool_results ?? [];
      expect(result).toMatchObject({
        is_error: true,
        content: [{ text: expect.stringContaining(`nknown tool: ${name}`) }],
      });
      expect(trace.status).toBe('completed');
    },
  );

  it('tells the model of bad arguments and of a tool that throws, and goes on', async () => {
    const lines = [calls(call('increment', { by: 'two' }), call('break')), says('It broke.')];
    const { trace } = await play(lines);
    const texts = trace.steps[0]?.tool_results.map((result) => JSON.stringify(result.content));
    expect(texts?.[0]).toContain('by');
    expect(texts?.[1]).not.toContain('secret');
    expect(trace.steps[0]?.tool_results.map((result) => result.is_error)).toEqual([true, true]);
    expect(trace).toMatchObject({ status: 'completed', answer: 'It broke.', reward: 0 });
  });

  it('is failed by a setup that throws, and says why', async () => {
    const { trace } = await play([], { scenario_name: 'no_setup' });
    expect(trace).toMatchObject({
      status: 'failed',
      reward: null,
      error: { boundary: 'setup', message: expect.stringContaining('no database') },
    });
    expect(trace.turns).toEqual([]);
  });

  it('is failed by an evaluation that throws, with the answer kept', async () => {
    const { trace } = await play([says('Well?')], { scenario_name: 'no_grade' });
    expect(trace).toMatchObject({
      status: 'failed',
      stop_reason: 'error',
      answer: 'Well?',
      reward: null,
      evaluation: null,
      error: {
        boundary: 'evaluate',
        code: 'environment_failed',
        message: expect.stringContaining('The grader is gone'),
      },
    });
  });

  it('is cancelled into the running tool', async () => {
    const interruption = new AbortController();
    const closed: string[] = [];
    const running = gate();
    const onWait = () => running.open();
    const playing = play([calls(call('wait'))], {}, { signal: interruption.signal, closed, onWait });
    await running.passed;
    interruption.abort(new RunInterrupted('cancelled'));
    const { trace } = await playing;
    expect(trace).toMatchObject({ status: 'cancelled', stop_reason: 'cancelled', reward: null, evaluation: null });
    expect(trace.turns[0]?.status).toBe('aborted');
    expect(closed.toSorted()).toEqual(['scenario', 'session', 'tool']);
  });

  it('stops and rejects when another worker has the run', async () => {
    const lines = [
      async () => {
        await store.startNextAttempt(traceId, 1, 'lost');
        return calls(call('increment'));
      },
      forever,
    ];
    await expect(play(lines)).rejects.toThrow(AttemptSupersededError);
    expect(await store.trace(traceId)).toMatchObject({ status: 'queued', attempt: 2 });
  });
});
