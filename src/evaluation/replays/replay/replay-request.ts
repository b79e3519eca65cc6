import type { EventOf } from '../../../contract/service/event.ts';
import { toQueuedRun } from '../../../rollout/session/queued-run.ts';
import type { NewTrace, TraceRow } from '../../../store/traces/trace-store.ts';

/** Least seconds of a replay, because setup and tools may be slower now. */
const LEAST_TIMEOUT_SECONDS = 600;

/**
 * The queued run that repeats a trace. It does not inherit metadata. With `fresh` judges are asked again.
 *
 * @param envName another environment than that of the trace.
 */
export function toReplay(
  { traceId, request }: Pick<TraceRow, 'traceId' | 'request'>,
  { fresh = false, envName }: { readonly fresh?: boolean; readonly envName?: string | undefined } = {},
): NewTrace['queued'] {
  return toQueuedRun({
    ...request,
    origin: 'replay',
    env_name: envName ?? request.env_name,
    timeout_seconds: Math.max(request.timeout_seconds, LEAST_TIMEOUT_SECONDS),
    sampling: {},
    metadata: {},
    agent: null,
    evaluation: null,
    parent: { trace_id: traceId, kind: 'replay', ...(fresh ? { fresh } : {}) },
  });
}

/** The parent of a run that goes on with a trace. */
export function toForkParent(fork: {
  readonly trace_id: string;
  readonly after_step: number;
}): EventOf<'run.queued'>['parent'] {
  return { trace_id: fork.trace_id, kind: 'fork', after_step: fork.after_step };
}
