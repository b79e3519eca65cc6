import type { Selectable } from 'kysely';
import type { HarnessUsage } from '../../../contract/chat.ts';
import { TOOL_BLOCKED } from '../../../contract/errors.ts';
import { runningMs } from '../../../contract/running-time.ts';
import { isRerunOutcome } from '../../../contract/service/outcome.ts';
import type { Trace } from '../../../contract/service/trace.ts';
import type { EvaluationAttemptsTable } from '../../database/tables/schema.ts';

/** Waits before the reruns of an attempt, in milliseconds (contract section 7, "Reruns"). */
const RERUN_WAITS_MS = [5_000, 30_000, 120_000] as const;
/** Largest random extension of a wait, as a share of it. It spreads the reruns of attempts that failed together. */
const JITTER = 0.2;
/** HTTP statuses that a rerun would not change: the gateway refuses the key or does not know the model. */
const LASTING_STATUSES: ReadonlySet<unknown> = new Set([401, 403, 404]);

/** Number of times that an attempt is run again automatically. */
export const MAX_RERUNS = RERUN_WAITS_MS.length;

/** Columns of an attempt's row that are set when its trace ends. */
export type EndedAttempt = Omit<
  Selectable<EvaluationAttemptsTable>,
  | 'evaluation_id'
  | 'attempt_index'
  | 'task_index'
  | 'model_index'
  | 'trace_id'
  | 'rerun'
  | 'rerun_limit'
  | 'earlier_usd'
  | 'earlier_tokens'
  | 'grade_reward'
  | 'grade_outcome'
>;

/** The keys have a fixed order, because statements are compiled with it. */
export function toEndedAttempt(trace: Trace, rerunLimit: number, finishedAt: number): EndedAttempt {
  const isRunAgain = isTriedAgain(trace) && trace.rerun < rerunLimit;
  const { usage } = trace;
  return {
    state: isRunAgain ? 'waiting' : 'done',
    due_at: isRunAgain ? finishedAt + waitMs(trace.rerun - (rerunLimit - MAX_RERUNS)) : null,
    outcome: trace.outcome,
    reward: trace.reward,
    steps: usage.model_calls,
    usage: JSON.stringify(toUsage(usage)),
    prompt_tokens: usage.prompt_tokens,
    completion_tokens: usage.completion_tokens,
    total_tokens: usage.total_tokens,
    // A run that called no model of a gateway costs nothing, even when prices are unknown.
    cost_usd: usage.model_calls === 0 || isReference(trace.model) ? 0 : usage.cost_usd,
    user_usd: costOf(usage.user),
    judge_usd: sumOf(costOf(usage.judge), costOf(usage.sample)),
    started_at: trace.started_at === null ? null : Date.parse(trace.started_at),
    finished_at: finishedAt,
    duration_ms: runningMs(trace),
    error: trace.error === null ? null : JSON.stringify(trace.error),
    environment_hash: trace.versions.environment_hash,
  };
}

/** Cost of the harness's calls. Without any call it is 0. */
function costOf(usage: HarnessUsage | undefined): number | null {
  return usage === undefined ? 0 : usage.cost_usd;
}

function sumOf(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one + other;
}

/** True when the attempt is run again. A tool that blocked its environment would do so again. */
function isTriedAgain({ outcome, error }: Trace): boolean {
  if (outcome === null || !isRerunOutcome(outcome) || error?.code === TOOL_BLOCKED) return false;
  return outcome !== 'model_error' || !LASTING_STATUSES.has(error !== null && 'status' in error && error.status);
}

/** True for a model that Proctor implements itself. */
function isReference(model: string): boolean {
  return model.startsWith('proctor/');
}

function waitMs(rerun: number): number {
  const wait = RERUN_WAITS_MS[Math.min(Math.max(rerun, 0), RERUN_WAITS_MS.length - 1)] ?? 0;
  return Math.round(wait * (1 + Math.random() * JITTER));
}

function toUsage({ model_calls: _calls, tool_calls: _toolCalls, ...usage }: Trace['usage']) {
  return usage;
}
