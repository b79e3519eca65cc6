import { failWith, startAgentSpan } from '../../support/telemetry/spans.ts';
import { NO_SPAN, TraceSpan } from '../../support/telemetry/trace-span.ts';
import type { RunOptions, RunOutcome } from './run.ts';

/** Executes an attempt of a run in its own span, which records how the attempt ended. */
export async function withRunSpan(
  { trace, request }: RunOptions,
  execute: (span: TraceSpan) => Promise<RunOutcome>,
): Promise<RunOutcome> {
  const span = trace === undefined ? NO_SPAN : startRunSpan(trace, request);
  try {
    const outcome = await span.run(() => execute(span));
    addOutcome(span, outcome);
    return outcome;
  } catch (thrown) {
    span.set({ 'proctor.status': 'lost' });
    failWith(span, thrown);
    throw thrown;
  } finally {
    span.end();
  }
}

/** Adds the span of an attempt whose worker is gone and cannot report it. */
export function addLostSpan(
  trace: NonNullable<RunOptions['trace']>,
  request: RunOptions['request'],
  startTime?: number,
): void {
  const span = startRunSpan(trace, request, startTime);
  span.set({ 'proctor.status': 'lost' });
  span.fail('lost', 'The worker of the attempt was lost');
  span.end();
}

function startRunSpan(
  trace: NonNullable<RunOptions['trace']>,
  request: RunOptions['request'],
  startTime?: number,
): TraceSpan {
  const { env_name: environment, scenario_name: scenario, model, origin } = request;
  const { attempt } = trace;
  return startAgentSpan(TraceSpan.root(trace), { environment, scenario, model, origin, attempt, startTime });
}

function addOutcome(span: TraceSpan, outcome: RunOutcome): void {
  span.set({ 'proctor.status': outcome.status });
  if (outcome.status === 'released') return;
  if (outcome.status !== 'lost') span.set({ 'proctor.stop_reason': outcome.stopReason });
  if (outcome.error !== null) {
    span.set({ 'proctor.error.boundary': outcome.error.boundary });
    span.fail(outcome.error.code, outcome.error.message);
  } else if (outcome.status !== 'completed') span.fail(outcome.status);
}
