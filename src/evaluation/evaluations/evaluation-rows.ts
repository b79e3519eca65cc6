import type { Kysely, Selectable } from 'kysely';
import { ApiError } from '../../contract/errors.ts';
import type { EvaluationStatus } from '../../contract/service/evaluation.ts';
import { EVALUATION_ID_PATTERN } from '../../contract/service/evaluation.ts';
import type { Database, DatabaseTransaction } from '../../store/database/database.ts';
import type { DatabaseSchema, EvaluationsTable } from '../../store/database/tables/schema.ts';

type Queries = Kysely<DatabaseSchema>;

export type EvaluationRow = Selectable<EvaluationsTable>;

/** Status of an evaluation that is being deleted. Queries no longer find it. */
export const DELETED = 'deleted';

/**
 * The row of an evaluation of the account.
 *
 * @param param request field with the id; null if the id is in the path.
 * @throws ApiError evaluation_not_found, also for an evaluation of another account.
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

/**
 * Like `findEvaluation`, and locks the row against changes and new attempts until the transaction ends. @throws the
 * same.
 */
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

/** Ids of the paused evaluations among these. */
export async function pausedAmong({ kysely }: Database, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await kysely
    .selectFrom('evaluations')
    .select('evaluation_id')
    .where('evaluation_id', 'in', ids)
    .where('status', '=', 'paused')
    .execute();
  return new Set(rows.map(({ evaluation_id }) => evaluation_id));
}

/** Undefined for a text that is no id. Postgres would reject one with a zero character. */
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

/** The public status. An evaluation that is being deleted is never found, so it needs none. */
export function statusOf({ status }: Pick<EvaluationRow, 'status'>): EvaluationStatus {
  return status as EvaluationStatus;
}
