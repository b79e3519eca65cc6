import { sql } from 'kysely';
import type { Database, DatabaseTransaction } from '../../store/database/database.ts';
import type { AttemptPlace } from './attempt-order.ts';
import type { EvaluationRow } from './evaluation-rows.ts';

/** An attempt that starts for the first time or again. */
export interface BegunAttempt extends AttemptPlace {
  readonly traceId: string;
  readonly rerun: number;
  readonly rerunLimit: number;
  /** Trace that it replaces. */
  readonly earlierTraceId: string | null;
}

/** Stores attempts and moves the cursor in one transaction, so that no other process starts them again. */
export async function insertAttempts(
  database: Database,
  transaction: DatabaseTransaction,
  { evaluation_id, next_attempt }: EvaluationRow,
  attempts: readonly BegunAttempt[],
): Promise<void> {
  const rows = attempts.map(({ attemptIndex, taskIndex, modelIndex, traceId }) => ({
    evaluation_id,
    attempt_index: attemptIndex,
    task_index: taskIndex,
    model_index: modelIndex,
    state: 'running',
    trace_id: traceId,
  }));
  const [first] = rows;
  if (first === undefined) return;
  const statement = database.kysely.insertInto('evaluation_attempts').values(first).compile();
  await database.runEach([{ statement, rows: rows.map((each) => Object.values(each)) }], { transaction });
  await transaction
    .updateTable('evaluations')
    .set({ next_attempt: next_attempt + rows.length })
    .where('evaluation_id', '=', evaluation_id)
    .execute();
}

/** Replaces a trace that says nothing about the model. Its cost still counts. */
export async function supersede(
  transaction: DatabaseTransaction,
  evaluationId: string,
  { traceId, earlierTraceId, rerun, ...place }: BegunAttempt,
): Promise<void> {
  await transaction
    .updateTable('evaluation_attempts')
    .set({
      earlier_usd: sql<
        number | null
      >`case when rerun = 0 then 0 else earlier_usd end + cost_usd + user_usd + judge_usd`,
      earlier_tokens: sql<number>`earlier_tokens + total_tokens`,
      state: 'running',
      due_at: null,
      trace_id: traceId,
      rerun,
      outcome: null,
      reward: null,
      steps: 0,
      usage: null,
      prompt_tokens: 0,
      completion_tokens: 0,
      total_tokens: 0,
      cost_usd: null,
      user_usd: 0,
      judge_usd: 0,
      duration_ms: null,
      finished_at: null,
      error: null,
      grade_reward: null,
      grade_outcome: null,
    })
    .where('evaluation_id', '=', evaluationId)
    .where('task_index', '=', place.taskIndex)
    .where('model_index', '=', place.modelIndex)
    .where('attempt_index', '=', place.attemptIndex)
    .execute();
  if (earlierTraceId === null) return;
  await transaction.updateTable('traces').set({ is_superseded: 1 }).where('trace_id', '=', earlierTraceId).execute();
  await transaction.updateTable('outcomes').set({ is_superseded: 1 }).where('trace_id', '=', earlierTraceId).execute();
}
