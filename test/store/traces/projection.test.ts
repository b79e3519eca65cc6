import { describe, expect, it } from 'vitest';
import type { EventBody, EventOf } from '../../../src/contract/service/event.ts';
import { traceListSchema, traceSchema } from '../../../src/contract/service/trace.ts';
import { projectTrace, toSummary } from '../../../src/store/traces/rows/projection.ts';
import {
  called,
  evaluated,
  finished,
  log,
  newTrace,
  ready,
  responded,
  setUp,
  stamp,
  started,
  toolResponded,
  turnFinished,
  turnStarted,
  VERSIONS,
} from './events.ts';

const identity = { traceId: 'a'.repeat(32), traceUrl: `http://127.0.0.1:8320/traces/${'a'.repeat(32)}` };

const queued: EventOf<'run.queued'> = {
  type: 'run.queued',
  ...newTrace({ metadata: { team: 'a' }, seed: 7 }).queued,
  previous_end: null,
};
const project = (bodies: readonly EventBody[]) => traceSchema.parse(projectTrace(stamp(bodies), identity));

/** Index times 10 ms is when each happened. */
const COMPLETED: readonly EventBody[] = [
  queued,
  started, // 10
  ready,
  setUp,
  turnStarted(), // 40
  { type: 'model.requested', turn: 1, step: 1 }, // 50
  responded(1, { calls: ['x', 'y'], cost: 0.5 }),
  called(1, 'x', 1),
  called(1, 'y', 2),
  toolResponded(1, 'y', 'second'),
  toolResponded(1, 'x', 'first'),
  { type: 'model.requested', turn: 1, step: 2 }, // 110
  responded(2, { content: 'Done.', cost: 0.25 }),
  turnFinished(1, 5), // 130
  { type: 'answer.submitted', answer: 'Done.' },
  evaluated(1),
  log('evaluated'),
  finished(1), // 170
];

describe('the trace that events make', () => {
  it('holds everything of a completed run', () => {
    const trace = project(COMPLETED);
    expect(trace).toMatchObject({
      ...identityFields(),
      origin: 'run',
      status: 'completed',
      stop_reason: 'answered',
      attempt: 1,
      attempts: [{ attempt: 1, started_at: at(10), ended_at: at(170), end: 'completed' }],
      env_name: 'counter',
      scenario_name: 'count_to',
      scenario_args: { target: 2 },
      model: 'proctor/oracle',
      max_steps: 100,
      seed: 7,
      metadata: { team: 'a' },
      versions: VERSIONS,
      created_at: at(0),
      started_at: at(10),
      finished_at: at(170),
      system: 'Be exact.',
      prompt: [{ role: 'user', content: 'Count to 2.' }],
      turns: [{ turn: 1, started_at: at(40), finished_at: at(130), status: 'answered', steps: [1, 2] }],
      answer: 'Done.',
      reward: 1,
      evaluation: { reward: 1 },
      error: null,
      logs: [{ at: at(160), level: 'info', logger: 'test', message: 'evaluated' }],
    });
    expect(trace.tools).toHaveLength(1);
  });

  it('has each step with its results in the order of the calls', () => {
    const [first, second] = project(COMPLETED).steps;
    expect(first).toMatchObject({ step: 1, turn: 1, started_at: at(50), model_ms: 30, finish_reason: 'tool_calls' });
    expect(
      first?.tool_results.map(({ tool_call_id, arguments: given, content }) => [tool_call_id, given, content]),
    ).toEqual([
      ['x', { by: 1 }, [{ type: 'text', text: 'first' }]],
      ['y', { by: 2 }, [{ type: 'text', text: 'second' }]],
    ]);
    expect(second).toMatchObject({ step: 2, started_at: at(110), tool_results: [] });
  });

  it('sums usage over the model calls and counts the tool calls', () => {
    expect(project(COMPLETED).usage).toEqual({
      model_calls: 2,
      tool_calls: 2,
      prompt_tokens: 200,
      completion_tokens: 20,
      total_tokens: 220,
      cached_tokens: 2,
      reasoning_tokens: 4,
      cost_usd: 0.75,
    });
  });

  it('has no cost where one call does not tell it', () => {
    const bodies = [queued, started, responded(1, { cost: 0.5 }), responded(2)];
    expect(project(bodies).usage.cost_usd).toBeNull();
    expect(project([queued]).usage.cost_usd).toBeNull();
  });

  it('says where the time went', () => {
    expect(project(COMPLETED).timing).toEqual({
      queued_ms: 10,
      environment_ms: 40,
      setup_ms: 2,
      model_ms: 60,
      tool_ms: 5,
      evaluate_ms: 1,
      total_ms: 170,
    });
  });

  it('sums the tools of a turn that has no end yet', () => {
    const trace = project(COMPLETED.slice(0, 11));
    expect(trace).toMatchObject({ status: 'running', timing: { tool_ms: 8, total_ms: 0 }, finished_at: null });
    expect(trace.turns).toMatchObject([{ status: 'running', finished_at: null }]);
  });

  it('is queued until it is started', () => {
    expect(project([queued])).toMatchObject({
      status: 'queued',
      stop_reason: null,
      started_at: null,
      attempts: [{ attempt: 1, started_at: null, ended_at: null, end: null }],
      system: null,
      prompt: [],
      turns: [],
      steps: [],
      answer: null,
      reward: null,
      evaluation: null,
      timing: { queued_ms: 0, total_ms: 0 },
    });
  });

  it('shows of a run that was lost and done again the last attempt alone, and how the first one ended', () => {
    const trace = project([
      queued,
      started, // 10
      ready,
      setUp,
      turnStarted(),
      responded(1, { calls: ['x'] }),
      called(1, 'x'),
      log('first attempt'),
      { ...queued, previous_end: 'lost' }, // 80
      started, // 90
      ready,
      turnStarted(),
      responded(1, { content: 'Again.' }),
      turnFinished(1, 0),
      { type: 'answer.submitted', answer: 'Again.' },
      evaluated(0.5),
      finished(0.5), // 160
    ]);
    expect(trace).toMatchObject({
      status: 'completed',
      attempt: 2,
      attempts: [
        { attempt: 1, started_at: at(10), ended_at: at(80), end: 'lost' },
        { attempt: 2, started_at: at(90), ended_at: at(160), end: 'completed' },
      ],
      created_at: at(0),
      started_at: at(90),
      system: null,
      usage: { model_calls: 1, tool_calls: 0 },
      timing: { queued_ms: 10, environment_ms: 40, setup_ms: 0, total_ms: 160 },
      answer: 'Again.',
      reward: 0.5,
      logs: [{ message: 'first attempt' }],
    });
    expect(trace.steps.map(({ message }) => message.content)).toEqual(['Again.']);
    expect(trace.turns).toHaveLength(1);
  });

  it('is queued again between two attempts, with nothing of the one before', () => {
    const trace = project([queued, started, responded(1), { ...queued, previous_end: 'released' }]);
    expect(trace).toMatchObject({ status: 'queued', attempt: 2, started_at: null, steps: [] });
    expect(trace.attempts.map(({ end }) => end)).toEqual(['released', null]);
  });

  it('says why each attempt was lost, where that is known', () => {
    const error = { boundary: 'environment' as const, code: 'environment_failed', message: 'It was killed' };
    const lost = { ...queued, previous_end: 'lost' as const };
    const trace = project([queued, started, { ...lost, previous_error: error }, started, lost, started]);
    expect(trace.attempts.map((attempt) => attempt.error)).toEqual([error, null, null]);
    expect(trace.error).toBeNull();
  });

  it('has no reward for a failed run, which keeps its evaluation apart', () => {
    const error = { boundary: 'model' as const, code: 'model_failed', message: 'The gateway answered 401' };
    const trace = project([
      queued,
      started,
      turnStarted(),
      evaluated(0.25),
      finished(0.25, { status: 'failed', stop_reason: 'error', error }),
    ]);
    expect(trace).toMatchObject({
      status: 'failed',
      stop_reason: 'error',
      reward: null,
      evaluation: { reward: 0.25 },
      error,
    });
    expect(trace.turns).toMatchObject([{ status: 'failed', finished_at: at(40) }]);
    expect(trace.attempts).toMatchObject([{ end: 'failed', error }]);
  });

  it('has no reward for a cancelled run, and its open turn was aborted', () => {
    const trace = project([
      queued,
      started,
      turnStarted(),
      finished(null, { status: 'cancelled', stop_reason: 'cancelled' }),
    ]);
    expect(trace).toMatchObject({ status: 'cancelled', stop_reason: 'cancelled', reward: null, error: null });
    expect(trace.turns).toMatchObject([{ status: 'aborted', finished_at: at(30) }]);
  });

  it('has the turns of a chat, each with its messages and steps', () => {
    const trace = project([
      { ...queued, origin: 'chat' },
      started,
      turnStarted(1, 'Count.'),
      responded(1, { turn: 1, calls: ['x'] }),
      called(1, 'x'),
      toolResponded(1, 'x'),
      responded(2, { turn: 1, content: 'One.' }),
      turnFinished(1, 4),
      turnStarted(2, 'Again.'),
      responded(3, { turn: 2, calls: ['x'] }),
      called(3, 'x', 5, 2),
      toolResponded(3, 'x', 'later', 2),
      responded(4, { turn: 2, content: 'Two.' }),
      turnFinished(2, 6),
      { type: 'answer.submitted', answer: { count: 2 } },
      evaluated(1),
      finished(1, { stop_reason: 'expired' }),
    ]);
    expect(trace).toMatchObject({ origin: 'chat', stop_reason: 'expired', answer: { count: 2 } });
    expect(trace.turns.map(({ turn, messages, steps }) => [turn, messages[0]?.content, steps])).toEqual([
      [1, 'Count.', [1, 2]],
      [2, 'Again.', [3, 4]],
    ]);
    expect(trace.steps.map(({ turn, tool_results }) => [turn, tool_results.length])).toEqual([
      [1, 1],
      [1, 0],
      [2, 1],
      [2, 0],
    ]);
    expect(trace.timing.tool_ms).toBe(10);
  });

  it('keeps two calls of a step apart that a model gave one id', () => {
    const trace = project([
      queued,
      started,
      turnStarted(),
      responded(1, { calls: ['x', 'x'] }),
      called(1, 'x', 1),
      called(1, 'x', 2),
      toolResponded(1, 'x', 'first'),
      toolResponded(1, 'x', 'second'),
    ]);
    expect(trace.steps[0]?.tool_results.map(({ arguments: { by }, content }) => [by, content[0]?.text])).toEqual([
      [1, 'first'],
      [2, 'second'],
    ]);
  });

  it('never has a negative time, whatever the clock did', () => {
    const [first, second, third] = stamp([queued, started, finished()]);
    if (first === undefined || second === undefined || third === undefined) throw new Error('three events');
    const events = [first, { ...second, at: at(-500) }, { ...third, at: at(-400) }];
    expect(projectTrace(events, identity).timing).toMatchObject({ queued_ms: 0, total_ms: 0 });
  });

  it('refuses events that do not begin with run.queued', () => {
    expect(() => projectTrace([], identity)).toThrow(/do not begin with run.queued/);
    expect(() => projectTrace(stamp([started]), identity)).toThrow(/do not begin with run.queued/);
  });

  it('leaves steps and logs out of its summary, and nothing else', () => {
    const trace = project(COMPLETED);
    const summary = toSummary(trace);
    expect(traceListSchema.parse({ object: 'list', data: [summary], next_cursor: null }).data).toEqual([summary]);
    expect({ ...summary, steps: trace.steps, logs: trace.logs }).toEqual(trace);
    expect(summary).not.toHaveProperty('steps');
    expect(summary).not.toHaveProperty('logs');
  });
});

function at(offsetMs: number): string {
  return new Date(Date.parse('2026-01-01T00:00:00.000Z') + offsetMs).toISOString();
}

function identityFields() {
  return { object: 'trace', version: 1, trace_id: identity.traceId, trace_url: identity.traceUrl };
}
