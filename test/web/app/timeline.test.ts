import { describe, expect, it } from 'vitest';
import type { EventBody, TraceEvent } from '../../../src/contract/service/event.ts';
import { toSegments, unfinishedMs } from '../../../src/web/app/trace/time-segments.ts';
import { hasProblem, type StepEntry, Timeline } from '../../../src/web/app/trace/timeline.ts';
import { newTrace } from '../../store/traces/events.ts';
import { begun, ending, QUEUED, setUp, steps, turnStarted } from '../traces.ts';

const START = Date.parse('2026-01-31T10:00:00.000Z');

/** Events as they are stored; each takes the time that it says it took. */
function stamped(bodies: readonly EventBody[]): TraceEvent[] {
  const queued: EventBody = { type: 'run.queued', ...newTrace(QUEUED).queued, previous_end: null };
  let at = START;
  let attempt = 0;
  return [queued, ...bodies].map((body, index) => {
    if (body.type === 'run.queued') attempt++;
    if ('duration_ms' in body) at += body.duration_ms;
    return { seq: index + 1, at: new Date(at).toISOString(), attempt, ...body };
  });
}

function read(bodies: readonly EventBody[]) {
  const timeline = new Timeline();
  for (const event of stamped(bodies)) timeline.add(event);
  return timeline.attempts();
}

const stepsOf = (bodies: readonly EventBody[]) =>
  (read(bodies).at(-1)?.entries ?? []).filter((entry): entry is StepEntry => entry.kind === 'step');

const log = (message: string): EventBody => ({ type: 'log', level: 'info', logger: 'environment', message });

describe('the timeline of a trace', () => {
  it('has what happened in its order, each with an anchor of its own', () => {
    const [attempt] = read([...begun, setUp, ...steps('none'), ...ending]);
    expect(attempt?.entries.map(({ id }) => id)).toEqual([
      'environment-3',
      'prompt',
      'step-1',
      'step-2',
      'step-3',
      'step-4',
      'answer',
      'evaluation',
    ]);
    expect([attempt?.end, attempt?.worker]).toEqual(['completed', 'worker_1']);
  });

  it('has the calls of an agent that brings its own model together, as no step and with their time', () => {
    const called = { turn: 1, step: 0, tool_call_id: 'call_1', name: 'look' };
    const call: EventBody = { type: 'tool.called', ...called, arguments: {}, raw_arguments: null };
    const result = { content: [], structured_content: null, is_error: false, duration_ms: 40 };
    const answered: EventBody = { type: 'tool.responded', ...called, ...result };
    const [attempt] = read([...begun, setUp, turnStarted, call, answered, { ...call, tool_call_id: 'call_2' }]);
    expect(attempt?.entries.map(({ id }) => id)).toEqual(['environment-3', 'prompt', 'calls']);
    expect(attempt?.entries.at(-1)).toMatchObject({ kind: 'step', response: undefined, calls: [{ name: 'look' }, {}] });
    const labels = toSegments(attempt === undefined ? [] : [attempt]).map(({ label }) => label);
    expect(labels).toContain('calls: look');
  });

  it('has a judge that gave no verdict, with its reason', () => {
    const usage = { model_calls: 1, prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, cost_usd: null };
    const asked = { model: 'judge', key: 'k', rubric: 'Kind?', material: 'Hello', usage, duration_ms: 5 };
    const failed: EventBody = { type: 'judge.failed', ...asked, message: 'It refused' };
    const entry = read([...begun, setUp, failed])[0]?.entries.at(-1);
    expect(entry).toMatchObject({ kind: 'judgement', event: { type: 'judge.failed', message: 'It refused' } });
  });

  it('has what somebody said in the first turn, and the prompt once', () => {
    const said: EventBody = { type: 'turn.started', turn: 1, messages: [{ role: 'user', content: 'Be quick.' }] };
    const idsOf = (bodies: readonly EventBody[]) =>
      read(bodies)
        .at(-1)
        ?.entries.map(({ id }) => id);
    expect(idsOf([setUp, said])).toEqual(['prompt', 'turn-1']);
    expect(idsOf([setUp, turnStarted])).toEqual(['prompt']);
  });

  it('has a step that was broken off, and the one that took its number in the next turn, which has its anchor', () => {
    const [answer] = steps('none').filter(({ type }) => type === 'model.responded');
    if (answer === undefined) throw new Error('No response');
    const read = stepsOf([
      setUp,
      turnStarted,
      { type: 'model.requested', turn: 1, step: 1 },
      { ...turnStarted, turn: 2 } as EventBody,
      { type: 'model.requested', turn: 2, step: 1 },
      answer,
    ]);
    expect(read.map(({ id, response }) => [id, response === undefined])).toEqual([
      ['step-1-before-6', true],
      ['step-1', false],
    ]);
  });

  it('gives each call its own result, whatever the order of the results and however often an id is used', () => {
    const [first] = stepsOf([...begun, setUp, ...steps('none')]);
    expect(first?.calls.map(({ name, result }) => [name, result?.is_error])).toEqual([
      ['find_order', false],
      ['find_user', true],
    ]);
    const call = (text: string): EventBody[] => [
      {
        type: 'tool.called',
        turn: 1,
        step: 1,
        tool_call_id: 'same',
        name: 'add',
        arguments: { text },
        raw_arguments: null,
      },
    ];
    const result = (text: string): EventBody => ({
      type: 'tool.responded',
      turn: 1,
      step: 1,
      tool_call_id: 'same',
      name: 'add',
      content: [{ type: 'text', text }],
      structured_content: null,
      is_error: false,
      duration_ms: 1,
    });
    const [step] = stepsOf([
      { type: 'model.requested', turn: 1, step: 1 },
      ...call('a'),
      ...call('b'),
      result('a'),
      result('b'),
    ]);
    expect(step?.calls.map((each) => [each.arguments.text, each.result?.content[0]?.text])).toEqual([
      ['a', 'a'],
      ['b', 'b'],
    ]);
  });

  it('puts a log where it happened: in the call that ran, after the step that was over, or between', () => {
    const bodies = steps('none');
    const called = bodies.findIndex(({ type }) => type === 'tool.called');
    const entries = read([
      log('before all'),
      ...bodies.slice(0, called + 1),
      log('in the call'),
      ...bodies.slice(called + 1, called + 4),
      log('after'),
    ]).at(-1)?.entries;
    const [between, step] = entries ?? [];
    expect(between?.kind === 'logs' && between.logs.map(({ message }) => message)).toEqual(['before all']);
    expect(step?.kind === 'step' && step.calls.map(({ logs }) => logs.map(({ message }) => message))).toEqual([
      ['in the call'],
      [],
    ]);
    expect(step?.kind === 'step' && step.logs.map(({ message }) => message)).toEqual(['after']);
  });

  it('keeps attempts apart, and the anchors of all of them', () => {
    const again: EventBody = { type: 'run.queued', ...newTrace(QUEUED).queued, previous_end: 'lost' };
    const attempts = read([...begun, setUp, ...steps('none'), again, ...begun, setUp, ...steps('none')]);
    expect(attempts.map(({ attempt, end }) => [attempt, end])).toEqual([
      [1, 'lost'],
      [2, null],
    ]);
    const ids = attempts.flatMap(({ entries }) => entries.map(({ id }) => id));
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('leaves what did not change as it was, so that it need not be drawn again', () => {
    const timeline = new Timeline();
    const events = stamped([...begun, setUp, ...steps('none'), ...ending]);
    for (const event of events.slice(0, -3)) timeline.add(event);
    const before = timeline.attempts()[0]?.entries ?? [];
    for (const event of events.slice(-3)) timeline.add(event);
    const after = timeline.attempts()[0]?.entries ?? [];
    expect(after.slice(0, before.length)).toEqual(before);
    expect(before.every((entry, index) => entry === after[index])).toBe(true);
  });

  it('knows a step in which something went wrong', () => {
    const [first, second, third, fourth] = stepsOf([...begun, setUp, ...steps('none'), ...ending]);
    expect([first, second, third, fourth].map((step) => step !== undefined && hasProblem(step, false))).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(third !== undefined && hasProblem(third, true)).toBe(false);
  });
});

describe('the time bar', () => {
  it('is as long as something ran: parallel calls share their time, and it has no holes', () => {
    const attempts = read([...begun, setUp, ...steps('none'), ...ending]);
    const segments = toSegments(attempts);
    const ends = segments.map(({ start, width }) => start + width);
    expect(segments[0]?.start).toBe(0);
    expect(ends.at(-1)).toBeCloseTo(1, 6);
    for (const [index, segment] of segments.slice(1).entries())
      expect(segment.start).toBeGreaterThanOrEqual((ends[index] ?? 0) - 1e-9);
    const model = segments.filter(({ phase }) => phase === 'model').reduce((sum, { ms }) => sum + ms, 0);
    expect(model).toBe(4 * 1_640);
  });

  it('leaves out the time in the queue, which is told apart', () => {
    const waited = stamped([...begun, setUp, ...steps('none'), ...ending]).map((event) =>
      event.type === 'run.queued' ? { ...event, at: new Date(START - 70_000).toISOString() } : event,
    );
    const timeline = new Timeline();
    for (const event of waited) timeline.add(event);
    expect(toSegments(timeline.attempts())).toEqual(toSegments(read([...begun, setUp, ...steps('none'), ...ending])));
    expect(toSegments(timeline.attempts())[0]?.phase).toBe('environment');
  });

  it('shortens the time in which nobody did anything', () => {
    const events = stamped([...begun, setUp, ...steps('none')]);
    const late = stamped([...begun, setUp, ...steps('none'), ...ending]).map((event) =>
      event.seq > events.length ? { ...event, at: new Date(Date.parse(event.at) + 3_600_000).toISOString() } : event,
    );
    const timeline = new Timeline();
    for (const event of late) timeline.add(event);
    const last = toSegments(timeline.attempts()).at(-2);
    expect(last?.label).toBe('step 4: model');
    expect(last?.width).toBeGreaterThan(0.15);
  });

  it('shows the time in which a run that is over waited in vain for its model or a tool, and counts it', () => {
    const later = (bodies: readonly EventBody[], ms: number) =>
      stamped(bodies).map((event) =>
        event.type === 'run.finished' ? { ...event, at: new Date(Date.parse(event.at) + ms).toISOString() } : event,
      );
    const [, requested, responded, called] = steps('none');
    const finished = ending.at(-1);
    if (requested === undefined || responded === undefined || called === undefined || finished === undefined)
      throw new Error('The example has no such events.');
    const seen = (events: readonly TraceEvent[]) => {
      const timeline = new Timeline();
      for (const event of events) timeline.add(event);
      const attempts = timeline.attempts();
      const { phase, label, ms } = toSegments(attempts).at(-1) ?? {};
      return [phase, label, ms, unfinishedMs(attempts.at(-1), 'model'), unfinishedMs(attempts.at(-1), 'tools')];
    };
    const asked = [...begun, setUp, requested];
    expect(seen(later([...asked, finished], 1_400))).toEqual([
      'model',
      'step 1: model, which never answered',
      1_400,
      1_400,
      0,
    ]);
    expect(seen(later([...asked, responded, called, finished], 9_000))).toEqual([
      'tools',
      'step 1: find_order, without a result',
      9_000,
      0,
      9_000,
    ]);
    expect(seen(later(asked, 0))[0]).toBe('setup');
  });

  it('is a few hundred parts at most, however many steps there were', () => {
    const many = Array.from({ length: 2_000 }, (_, index) =>
      steps('none')
        .slice(1, 7)
        .map((body) => ('step' in body ? { ...body, step: index + 1 } : body)),
    );
    const segments = toSegments(read([...begun, setUp, ...many.flat()]));
    expect(segments.length).toBeLessThan(1_300);
    expect(segments.length).toBeGreaterThan(200);
  });
});
