import type { Kysely } from 'kysely';
import { ApiError } from '../contract/errors.ts';
import { type EvaluationStatus, evaluationStatusSchema } from '../contract/evaluation.ts';
import type { Outcome } from '../contract/outcome.ts';
import type { DatabaseSchema } from '../database/schema.ts';
import { parseSettings } from './evaluation-settings.ts';

/** What belongs to an evaluation, begun or not. */
export interface EvaluationPlan {
  readonly evaluationId: string;
  readonly status: EvaluationStatus;
  /** Attempts name them by their index. */
  readonly models: readonly string[];
  /** Number of tasks. */
  readonly tasks: number;
  /** Of each task with each model. */
  readonly attempts: number;
  readonly passThreshold: number;
  /** Milliseconds since 1970. */
  readonly finishedAt: number | null;
  /** Settled model calls, where there is a budget. */
  readonly spent: { readonly usd: number; readonly tokens: number };
}

/** @throws ApiError evaluation_not_found with `param`, also for one that is being deleted. */
export async function readPlan(
  queries: Kysely<DatabaseSchema>,
  evaluationId: string,
  { param = null }: { readonly param?: string | null } = {},
): Promise<EvaluationPlan> {
  const row = await queries
    .selectFrom('evaluations')
    .select(['status', 'settings', 'tasks', 'attempts', 'finished_at', 'spent_usd', 'spent_tokens'])
    .where('evaluation_id', '=', evaluationId)
    .executeTakeFirst();
  const status = evaluationStatusSchema.safeParse(row?.status);
  if (row === undefined || !status.success) {
    throw new ApiError('evaluation_not_found', `There is no evaluation ${JSON.stringify(evaluationId)}.`, { param });
  }
  const { models, pass_threshold } = parseSettings(row.settings);
  return {
    evaluationId,
    status: status.data,
    models,
    tasks: row.tasks,
    attempts: row.attempts,
    passThreshold: pass_threshold,
    finishedAt: row.finished_at,
    spent: { usd: row.spent_usd, tokens: row.spent_tokens },
  };
}

/** How attempts count that have no outcome, since their evaluation has ended; undefined: they may get one. */
export function outcomeOfRest({ status }: EvaluationPlan): Outcome | undefined {
  if (status === 'completed') return 'over_budget';
  return status === 'cancelled' ? 'cancelled' : undefined;
}
