import type { Selectable } from 'kysely';
import type { HarnessUsage } from '../contract/chat.ts';
import { isRerunOutcome, type Outcome } from '../contract/outcome.ts';
import { runningMs } from '../contract/running-time.ts';
import type { Trace } from '../contract/trace.ts';
import type { EvaluationAttemptsTable } from '../database/schema.ts';

/** Waits before the reruns of an attempt, in milliseconds (contract section 7, "Reruns"). */
const RERUN_WAITS_MS = [5_000, 30_000, 120_000] as const;
/** Share of a wait by which it may be longer, so that what failed together does not come back together. */
const JITTER = 0.2;
/** Gateways that refuse a key or do not know a model answer the same the next time. */
const LASTING_STATUSES: ReadonlySet<unknown> = new Set([401, 403, 404]);

/** How many times an attempt is run again by itself. */
export const MAX_RERUNS = RERUN_WAITS_MS.length;

/** Columns that the end of its trace sets in the row of an attempt. */
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

/** In an order that never changes: statements are compiled by it. */
export function toEndedAttempt(trace: Trace, rerunLimit: number, finishedAt: number): EndedAttempt {
  const isRunAgain = isTriedAgain(trace) && trace.rerun < rerunLimit;
  const { usage } = trace;
  return {
    state: isRunAgain ? 'waiting' : 'done',
    due_at: isRunAgain ? finishedAt + waitMs(trace.rerun - (rerunLimit - MAX_RERUNS)) : null,
    outcome: trace.outcome,
    reward: rewardOf(trace),
    steps: usage.model_calls,
    usage: JSON.stringify(toUsage(usage)),
    prompt_tokens: usage.prompt_tokens,
    completion_tokens: usage.completion_tokens,
    total_tokens: usage.total_tokens,
    // A run that called no model of a gateway has cost nothing, whatever the price is.
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

/** A model that was never asked has cost nothing. */
function costOf(usage: HarnessUsage | undefined): number | null {
  return usage === undefined ? 0 : usage.cost_usd;
}

function sumOf(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one + other;
}

function isTriedAgain({ outcome, error }: Trace): boolean {
  if (outcome === null || !isRerunOutcome(outcome)) return false;
  return outcome !== 'model_error' || !LASTING_STATUSES.has(error !== null && 'status' in error && error.status);
}

/** An answer that does not fit its schema is worth nothing, whatever the evaluation has made of it. */
export function rewardOf({ outcome, reward }: Pick<Trace, 'outcome' | 'reward'>): number | null {
  const outcomes: Partial<Record<Outcome, number | null>> = {
    agent_error: 0,
    graded: reward,
    limit: reward,
    refused: reward,
  };
  return (outcome === null ? null : outcomes[outcome]) ?? null;
}

/** A model that Proctor plays itself. */
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
