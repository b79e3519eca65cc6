import { ApiError } from '../contract/errors.ts';
import type { RunStatus } from '../contract/run.ts';
import type { Trace } from '../contract/trace.ts';

/** Whether an agent with a loop of its own has played it: it talked with its user by a tool. */
export function isPlayedByAgent({ origin, agent }: Pick<Trace, 'origin' | 'agent'>): boolean {
  return origin === 'agent' || agent !== undefined;
}

/** @throws ApiError run_running for a trace that cannot be repeated yet. */
export function assertEnded({ trace_id, status }: { readonly trace_id: string; readonly status: RunStatus }): void {
  if (status !== 'queued' && status !== 'running') return;
  throw new ApiError('run_running', `Trace ${trace_id} is ${status}: wait for its end, or cancel it.`);
}
