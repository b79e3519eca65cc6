import { sql } from 'kysely';
import { ApiError } from '../../contract/errors.ts';
import type { Budget, EvaluationPatch } from '../../contract/service/evaluation.ts';
import type { Outcome } from '../../contract/service/outcome.ts';
import type { DatabaseTransaction } from '../../store/database/database.ts';
import { MAX_RERUNS } from '../../store/traces/rows/attempt-rows.ts';
import { attemptsInAll } from './attempt-order.ts';
import { type EvaluationRow, evaluationFinished } from './evaluation-rows.ts';
import { parseSettings } from './evaluation-settings.ts';
import { checkAttempts } from './limits/check-limits.ts';

/**
 * Changes a locked row. More attempts, or a higher budget after the old one was used up, start a completed evaluation
 * again.
 *
 * @returns the new status. @throws ApiError invalid_parameter for fewer attempts or too many; evaluation_finished for a
 *   cancelled evaluation.
 */
export async function changeEvaluation(
  transaction: DatabaseTransaction,
  row: EvaluationRow,
  { attempts = row.attempts, concurrency = row.concurrency, budget }: EvaluationPatch,
  now: number,
): Promise<string> {
  if (row.status === 'cancelled') throw evaluationFinished(row);
  const models = parseSettings(row.settings).models.length;
  if (attempts < row.attempts) throw fewerAttempts(attempts, row.attempts);
  checkAttempts({ tasks: row.tasks, models, attempts });
  const isRaised = budget !== undefined && isHigher(row, budget);
  const again = isRaised ? await runAgain(transaction, row.evaluation_id, ['over_budget'], now) : 0;
  const isUnbegun = isRaised && row.next_attempt < attemptsInAll({ ...row, models });
  const goesOn = row.status === 'completed' && (attempts > row.attempts || again > 0 || isUnbegun);
  await transaction
    .updateTable('evaluations')
    .set({
      attempts,
      concurrency,
      ...(budget === undefined ? {} : { budget_usd: budget?.usd ?? null, budget_tokens: budget?.tokens ?? null }),
      ...(goesOn ? { status: 'running', finished_at: null } : {}),
      report: null,
    })
    .where('evaluation_id', '=', row.evaluation_id)
    .execute();
  return goesOn ? 'running' : row.status;
}

/**
 * Reruns attempts with these outcomes as soon as possible, including those that wait for a later rerun.
 *
 * @returns the number of attempts.
 */
export async function runAgain(
  transaction: DatabaseTransaction,
  evaluationId: string,
  outcomes: readonly Outcome[],
  now: number,
): Promise<number> {
  const { numUpdatedRows } = await transaction
    .updateTable('evaluation_attempts')
    .set({ state: 'waiting', due_at: now, rerun_limit: sql<number>`rerun + ${1 + MAX_RERUNS}` })
    .where('evaluation_id', '=', evaluationId)
    .where('state', 'in', ['done', 'waiting'])
    .where('outcome', 'in', outcomes)
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

/** True if a budget is higher. No budget is higher than any. */
function isHigher(row: EvaluationRow, budget: Budget | null): boolean {
  const usd = budget?.usd ?? Number.POSITIVE_INFINITY;
  const tokens = budget?.tokens ?? Number.POSITIVE_INFINITY;
  const hasMore = usd > (row.budget_usd ?? Number.POSITIVE_INFINITY);
  return hasMore || tokens > Number(row.budget_tokens ?? Number.POSITIVE_INFINITY);
}

function fewerAttempts(given: number, present: number): ApiError {
  return new ApiError(
    'invalid_parameter',
    `attempts is ${given}, and the evaluation has ${present}: attempts can only be added.`,
    { param: 'attempts' },
  );
}
