import { sql } from 'kysely';
import type { DatabaseTransaction } from '../../store/database/database.ts';

/**
 * Counts a trace's open reservations as spent, because its worker died before it could settle them. Called before the
 * trace starts again or its end is written. Does nothing without reservations.
 */
export async function settleAbandoned(transaction: DatabaseTransaction, traceId: string): Promise<void> {
  const evaluationId = await payerOf(transaction, traceId);
  if (evaluationId === undefined) return;
  await countAsSpent(transaction, evaluationId, (reservation) => reservation.trace_id === traceId);
}

/** The evaluation in which a trace has open reservations. */
export async function payerOf(
  database: Pick<DatabaseTransaction, 'selectFrom'>,
  traceId: string,
): Promise<string | undefined> {
  const held = await database
    .selectFrom('evaluation_reservations')
    .select('evaluation_id')
    .where('trace_id', '=', traceId)
    .executeTakeFirst();
  return held?.evaluation_id;
}

/** Counts reservations of an evaluation as spent. @returns their number. */
export async function countAsSpent(
  transaction: DatabaseTransaction,
  evaluationId: string,
  isMoved: (reservation: OpenReservation) => boolean,
): Promise<number> {
  await lockEvaluation(transaction, evaluationId);
  const open = await openReservations(transaction, evaluationId);
  const moved = open.filter(isMoved);
  if (moved.length === 0) return 0;
  await addSpent(transaction, evaluationId, {
    usd: moved.reduce((sum, { usd }) => sum + usd, 0),
    tokens: moved.reduce((sum, { tokens }) => sum + tokens, 0),
  });
  await transaction
    .deleteFrom('evaluation_reservations')
    .where(
      'reservation_id',
      'in',
      moved.map(({ reservation_id }) => reservation_id),
    )
    .execute();
  return moved.length;
}

export type OpenReservation = Awaited<ReturnType<typeof openReservations>>[number];

/**
 * Blocks all other writers of an evaluation's budget until the transaction ends. All of them start with this lock, so
 * that values stay unchanged after reading and no deadlock occurs.
 *
 * @returns undefined if the evaluation was deleted.
 */
export async function lockEvaluation(transaction: DatabaseTransaction, evaluationId: string) {
  return await transaction
    .updateTable('evaluations')
    .set({ spent_usd: sql.ref('spent_usd') })
    .where('evaluation_id', '=', evaluationId)
    .returning(['budget_usd', 'budget_tokens', 'spent_usd', 'spent_tokens'])
    .executeTakeFirst();
}

export async function openReservations(database: Pick<DatabaseTransaction, 'selectFrom'>, evaluationId: string) {
  return await database
    .selectFrom('evaluation_reservations')
    .select(['reservation_id', 'trace_id', 'usd', 'tokens', 'beat'])
    .where('evaluation_id', '=', evaluationId)
    .execute();
}

export async function addSpent(
  transaction: Pick<DatabaseTransaction, 'updateTable'>,
  evaluationId: string,
  { usd, tokens }: { readonly usd: number; readonly tokens: number },
): Promise<void> {
  await transaction
    .updateTable('evaluations')
    .set({ spent_usd: sql`spent_usd + ${usd}`, spent_tokens: sql`spent_tokens + ${tokens}` })
    .where('evaluation_id', '=', evaluationId)
    .execute();
}
