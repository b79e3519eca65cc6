import { ApiError } from '../../contract/errors.ts';
import { isEnded } from '../../contract/service/ended.ts';
import type { RunStatus } from '../../contract/service/run.ts';
import type { Trace } from '../../contract/service/trace.ts';

/**
 * Whether an agent with a loop of its own has played it: it talked with its user by a tool. Steps of its model tell of a
 * branch, null for the main one, and calls without a step are in its trace alone: in replays and exported ones too.
 */
export function isPlayedByAgent({
  origin,
  agent,
  steps,
  tool_calls,
}: Pick<Trace, 'origin' | 'agent' | 'steps' | 'tool_calls'>): boolean {
  if (origin === 'agent' || agent !== undefined || tool_calls !== undefined) return true;
  return steps.some(({ branch }) => branch !== undefined);
}

/** @throws ApiError run_running for a trace that has not ended. */
export function assertEnded({ trace_id, status }: { readonly trace_id: string; readonly status: RunStatus }): void {
  if (isEnded(status)) return;
  throw new ApiError('run_running', `Trace ${trace_id} is ${status}: wait for its end, or cancel it.`);
}
