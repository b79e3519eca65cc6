import { describe, expect, it } from 'vitest';
import type { EventBody, EventOf, TraceEvent } from '../../../src/contract/service/event.ts';
import { projectTrace, toSummary } from '../../../src/store/traces/rows/projection.ts';
import { Timeline } from '../../../src/web/app/trace/timeline.ts';
import { toVerdict } from '../../../src/web/app/trace/verdict.ts';
import { newTrace } from '../../store/traces/events.ts';
import { BROKEN, BROWSING } from '../example-traces.ts';
import { MODEL_ERROR, SETUP_ERROR, TOOL_ERRORS, WRONG_ANSWER } from '../failed-traces.ts';
import type { ExampleTrace } from '../trace-parts.ts';

/** What the page says first of a run, and whether its findings say so, too. */
function read({ queued, bodies }: ExampleTrace) {
  const { traceId, account: _, ...trace } = newTrace(queued);
  const first: EventBody = { type: 'run.queued', ...trace.queued, previous_end: null };
  const at = '2026-01-31T10:00:00.000Z';
  const events = [first, ...bodies].map((body, index): TraceEvent => ({ seq: index + 1, at, attempt: 1, ...body }));
  const timeline = new Timeline();
  for (const event of events) timeline.add(event);
  const summary = toSummary(projectTrace(events, { traceId, traceUrl: '' }));
  const { title, detail, findings } = toVerdict(summary, timeline.attempts());
  return { title, detail, findings: findings.map(({ text }) => text) };
}

const withEvaluation = (given: Partial<Extract<EventBody, { type: 'evaluation.completed' }>['evaluation']>) => ({
  ...TOOL_ERRORS,
  bodies: TOOL_ERRORS.bodies.map((body) =>
    body.type === 'evaluation.completed' ? { ...body, evaluation: { ...body.evaluation, ...given } } : body,
  ),
});

describe('why a run began anew', () => {
  const start = (attempt: number, fields: Partial<EventOf<'run.queued'>>): TraceEvent => {
    const body: EventBody = { type: 'run.queued', ...newTrace().queued, previous_end: null, ...fields };
    return { seq: attempt, at: '2026-01-31T10:00:00.000Z', attempt, ...body };
  };

  it('is how its attempt was lost, where that is known', () => {
    const message = 'The environment "counter" was killed by SIGKILL';
    const error = { boundary: 'environment' as const, code: 'environment_failed', message };
    const events = [
      start(1, {}),
      start(2, { previous_end: 'lost', previous_error: error }),
      start(3, { previous_end: 'lost' }),
    ];
    const timeline = new Timeline();
    for (const event of events) timeline.add(event);
    const summary = toSummary(projectTrace(events, { traceId: 'a', traceUrl: '' }));
    expect(toVerdict(summary, timeline.attempts()).findings.map(({ text }) => text)).toEqual([
      `Attempt 1 was lost after 0 steps: it began anew. ${message}`,
      'Attempt 2 was lost after 0 steps: it began anew',
    ]);
  });
});

describe('why a run failed', () => {
  it('of a wrong answer is what the evaluation says, beside the answer', () => {
    const { title, detail, findings } = read(WRONG_ANSWER);
    expect(title).toBe('Not passed: the evaluation gave 0');
    expect(detail).toContain('the customer said "ordered by mistake"');
    expect(findings).toEqual(['It answered “Your order #W8065207 is cancelled. The money is back on your gift card.”']);
  });

  it('of a run that is out of steps is where it was and what stood in its way', () => {
    const { title, findings } = read(BROWSING);
    expect(title).toContain('Out of steps: no answer after all 4 of them');
    expect(findings).toEqual([
      'It came as far as',
      'It answered “Now I pay.”',
      '1 tool call failed; the last, click, says “The button is not enabled: a delivery address is missing.”',
    ]);
  });

  it('of one whose calls failed is what they were told, and how often, where the evaluation says nothing', () => {
    expect(read(TOOL_ERRORS).findings).toEqual([
      'It answered “I am sorry, your account does not exist.”',
      'The evaluation does not say why',
      expect.stringContaining('4 tool calls failed; the last, get_user_details, says “Error: user not found.'),
      'get_user_details was called 4 times with the same arguments',
    ]);
  });

  it('is taken from what the evaluation has noted, where it does not say it in words', () => {
    expect(read(withEvaluation({ info: { count: 2, target: 3 } })).findings).toContain(
      'The evaluation noted {"count":2,"target":3}',
    );
    expect(read(withEvaluation({ subscores: [{ name: 'records', value: 0 }] })).findings).not.toContain(
      'The evaluation does not say why',
    );
  });

  it('of one whose environment, model or setup failed is the error, and what was going on', () => {
    expect(read(BROKEN)).toMatchObject({
      title: 'Failed in the environment',
      detail: 'The environment "workspace" ended with signal SIGABRT while run_command was running.',
      findings: ['When it ended, run_command had no result yet:', expect.any(String)],
    });
    expect(read(MODEL_ERROR)).toMatchObject({
      title: 'Failed at the model',
      detail: expect.stringContaining('429 You exceeded your current quota'),
      findings: ['When it ended, the model had not answered:', expect.any(String)],
    });
    expect(read(SETUP_ERROR)).toMatchObject({
      title: 'Failed in the setup of the scenario',
      detail: expect.stringContaining('There is no task "999"'),
      findings: [],
    });
  });
});
