import type { Kysely } from 'kysely';
import { ApiError } from '../../contract/errors.ts';
import type { EvaluationStatus } from '../../contract/service/evaluation.ts';
import type { Outcome } from '../../contract/service/outcome.ts';
import type { DatabaseSchema } from '../../store/database/tables/schema.ts';
import { DELETED, type EvaluationRow, statusOf } from './evaluation-rows.ts';
import { parseSettings } from './evaluation-settings.ts';

/** Tasks, models and attempts of an evaluation, started or not. */
export interface EvaluationPlan {
  readonly evaluationId: string;
  readonly status: EvaluationStatus;
  /** Models in the order of the attempts' indexes. */
  readonly models: readonly string[];
  /** Number of tasks. */
  readonly tasks: number;
  /** Attempts of each task with each model. */
  readonly attempts: number;
  readonly passThreshold: number;
  /** Number of started attempts. */
  readonly begun: number;
  /** Milliseconds since 1970. */
  readonly finishedAt: number | null;
  /** Cost of finished model calls, if there is a budget. */
  readonly spent: { readonly usd: number; readonly tokens: number };
}

/** @throws ApiError evaluation_not_found with `param`, also for an evaluation that is being deleted. */
export async function readPlan(
  queries: Kysely<DatabaseSchema>,
  evaluationId: string,
  { param = null }: { readonly param?: string | null } = {},
): Promise<EvaluationPlan> {
  const row = await queries
    .selectFrom('evaluations')
    .selectAll()
    .where('evaluation_id', '=', evaluationId)
    .executeTakeFirst();
  if (row === undefined || row.status === DELETED) {
    throw new ApiError('evaluation_not_found', `There is no evaluation ${JSON.stringify(evaluationId)}.`, { param });
  }
  return toPlan(row);
}

export function toPlan(row: EvaluationRow): EvaluationPlan {
  const { models, pass_threshold } = parseSettings(row.settings);
  return {
    evaluationId: row.evaluation_id,
    status: statusOf(row),
    models,
    tasks: row.tasks,
    attempts: row.attempts,
    passThreshold: pass_threshold,
    begun: Number(row.next_attempt),
    finishedAt: row.finished_at === null ? null : Number(row.finished_at),
    spent: { usd: row.spent_usd, tokens: row.spent_tokens },
  };
}

/** Outcome of attempts without one after the evaluation has ended; undefined if they may still get one. */
export function outcomeOfRest({ status }: EvaluationPlan): Outcome | undefined {
  if (status === 'completed') return 'over_budget';
  return status === 'cancelled' ? 'cancelled' : undefined;
}
