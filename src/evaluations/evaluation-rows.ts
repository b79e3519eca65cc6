import type { Kysely, Selectable } from 'kysely';
import { ApiError } from '../contract/errors.ts';
import type { EvaluationStatus } from '../contract/evaluation.ts';
import { EVALUATION_ID_PATTERN } from '../contract/evaluation.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { DatabaseSchema, EvaluationsTable } from '../database/schema.ts';

type Queries = Kysely<DatabaseSchema>;

export type EvaluationRow = Selectable<EvaluationsTable>;

/** The status of one that is being deleted: nobody finds it any more. */
export const DELETED = 'deleted';

/** A page of an evaluation that begins attempts, or could. */
export function isEnded(status: string): boolean {
  return status === 'completed' || status === 'cancelled';
}

/**
 * The row of an evaluation of the account.
 *
 * @param param the field of the request that names it; null for a path.
 * @throws ApiError evaluation_not_found, for one of another account too.
 */
export async function findEvaluation(
  queries: Queries,
  account: string,
  evaluationId: string,
  param: string | null = null,
): Promise<EvaluationRow> {
  const row = await selectEvaluation(queries, account, evaluationId)?.executeTakeFirst();
  if (row === undefined) throw evaluationNotFound(evaluationId, param);
  return row;
}

/** The same, and nobody else changes it, or begins attempts of it, before the transaction ends. @throws as `findEvaluation`. */
export async function lockEvaluation(
  database: Database,
  transaction: DatabaseTransaction,
  account: string,
  evaluationId: string,
): Promise<EvaluationRow> {
  const row = await selectEvaluation(transaction, account, evaluationId)
    ?.$if(database.kind === 'postgres', (query) => query.forUpdate())
    .executeTakeFirst();
  if (row === undefined) throw evaluationNotFound(evaluationId);
  return row;
}

/** Undefined for what is no id: nothing has it, and a zero character cannot even be asked for. */
function selectEvaluation(queries: Queries, account: string, evaluationId: string) {
  if (!EVALUATION_ID_PATTERN.test(evaluationId)) return undefined;
  return queries
    .selectFrom('evaluations')
    .selectAll()
    .where('evaluation_id', '=', evaluationId)
    .where('account', '=', account)
    .where('status', '<>', DELETED);
}

function evaluationNotFound(evaluationId: string, param: string | null = null): ApiError {
  return new ApiError(
    'evaluation_not_found',
    `There is no evaluation ${JSON.stringify(evaluationId.slice(0, 100))}. GET /v1/evaluations lists those of this account.`,
    { param },
  );
}

export function evaluationFinished({ evaluation_id, status }: EvaluationRow): ApiError {
  const wayOut =
    status === 'cancelled' ? 'begin a new one' : 'run attempts of it again (rerun), add attempts, or begin a new one';
  return new ApiError('evaluation_finished', `Evaluation ${evaluation_id} is ${status}: ${wayOut}.`);
}

/** One that is being deleted is found by nobody, so that its status is never asked for. */
export function statusOf({ status }: Pick<EvaluationRow, 'status'>): EvaluationStatus {
  return status as EvaluationStatus;
}
