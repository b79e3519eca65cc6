import { describe, expect, it } from 'vitest';
import { boundarySchema } from '../../../src/contract/error-shapes.ts';
import type { Trace } from '../../../src/contract/service/trace.ts';
import { type OutcomeFacts, toOutcome } from '../../../src/store/traces/rows/trace-outcome.ts';

const ANSWERED: OutcomeFacts = {
  trace: { status: 'completed', stop_reason: 'answered', error: null },
  lastResponse: { finishReason: 'stop', isRefusal: false },
  isAnswerUnfit: false,
};

function failed(boundary: NonNullable<Trace['error']>['boundary'], code = 'internal_error'): OutcomeFacts {
  const error = { boundary, code, message: 'It went wrong.' };
  return { ...ANSWERED, trace: { status: 'failed', stop_reason: 'error', error } };
}

function stopped(stop_reason: Trace['stop_reason']): OutcomeFacts {
  return { ...ANSWERED, trace: { ...ANSWERED.trace, stop_reason } };
}

describe('the outcome of a trace', () => {
  it('is null until it has ended', () => {
    for (const status of ['queued', 'running'] as const) {
      expect(toOutcome({ ...ANSWERED, trace: { status, stop_reason: null, error: null } })).toBeNull();
    }
  });

  it('is graded where the model answered', () => {
    expect(toOutcome(ANSWERED)).toBe('graded');
  });

  it.each(['max_steps', 'length', 'timeout'] as const)('is limit after %s', (reason) => {
    expect(toOutcome(stopped(reason))).toBe('limit');
  });

  it('is refused where the last response is a refusal or was filtered, whatever stopped it', () => {
    const refusal = { finishReason: 'stop', isRefusal: true };
    const filtered = { finishReason: 'content_filter', isRefusal: false };
    expect(toOutcome({ ...ANSWERED, lastResponse: refusal })).toBe('refused');
    expect(toOutcome({ ...stopped('length'), lastResponse: filtered })).toBe('refused');
  });

  it('is agent_error where the answer does not fit its schema, and where the evaluation failed of that', () => {
    expect(toOutcome({ ...ANSWERED, isAnswerUnfit: true })).toBe('agent_error');
    expect(toOutcome({ ...failed('evaluate'), isAnswerUnfit: true })).toBe('agent_error');
    expect(toOutcome({ ...stopped('max_steps'), isAnswerUnfit: true })).toBe('limit');
  });

  it('is that of the boundary where the run failed', () => {
    const outcomes = Object.fromEntries(boundarySchema.options.map((name) => [name, toOutcome(failed(name))]));
    expect(outcomes).toEqual({
      environment: 'infra_error',
      tool: 'infra_error',
      worker: 'infra_error',
      setup: 'grader_error',
      evaluate: 'grader_error',
      model: 'model_error',
      agent: 'agent_error',
    });
  });

  it('is over_budget where a model call could not be paid', () => {
    expect(toOutcome(failed('model', 'over_budget'))).toBe('over_budget');
  });

  it('is cancelled where somebody cancelled it', () => {
    expect(toOutcome({ ...ANSWERED, trace: { status: 'cancelled', stop_reason: 'cancelled', error: null } })).toBe(
      'cancelled',
    );
  });
});
