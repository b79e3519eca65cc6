import { ApiError } from '../contract/errors.ts';
import type { RunStatus } from '../contract/run.ts';

/** @throws ApiError run_running for a trace that cannot be repeated yet. */
export function assertEnded({ trace_id, status }: { readonly trace_id: string; readonly status: RunStatus }): void {
  if (status !== 'queued' && status !== 'running') return;
  throw new ApiError('run_running', `Trace ${trace_id} is ${status}: wait for its end, or cancel it.`);
}
