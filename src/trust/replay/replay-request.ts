import type { EventOf } from '../../contract/event.ts';
import type { NewTrace, TraceRow } from '../../trace/trace-store.ts';

/** Seconds for a replay where its run had less: no model is waited for, and setup and tools may be slower today. */
const LEAST_TIMEOUT_SECONDS = 600;

/** The run that repeats a trace, as its queue has it. Its metadata are its own. With `fresh` judges are asked again. */
export function toReplay(
  { traceId, request }: Pick<TraceRow, 'traceId' | 'request'>,
  { fresh = false }: { readonly fresh?: boolean } = {},
): NewTrace['queued'] {
  const { env_name, scenario_name, scenario_args, model, max_steps, timeout_seconds, seed } = request;
  const { user_model, judge_model, user_script } = request;
  return {
    origin: 'replay',
    ...{ env_name, scenario_name, scenario_args, model, max_steps, seed },
    timeout_seconds: Math.max(timeout_seconds, LEAST_TIMEOUT_SECONDS),
    sampling: {},
    metadata: {},
    priority: request.priority,
    parent: { trace_id: traceId, kind: 'replay', ...(fresh ? { fresh } : {}) },
    ...(user_model === undefined ? {} : { user_model }),
    ...(judge_model === undefined ? {} : { judge_model }),
    ...(user_script === undefined ? {} : { user_script }),
  };
}

/** The parent of a run that goes on with a trace. */
export function toForkParent(fork: {
  readonly trace_id: string;
  readonly after_step: number;
}): EventOf<'run.queued'>['parent'] {
  return { trace_id: fork.trace_id, kind: 'fork', after_step: fork.after_step };
}
