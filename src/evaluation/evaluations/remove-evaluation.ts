import { removeTraces } from '../../store/traces/remove-trace.ts';
import { UNFINISHED } from '../../store/traces/rows/trace-rows.ts';
import { sleep } from '../../support/runtime/backoff.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { type CancelOptions, endQueued } from './cancel-attempts.ts';
import { DELETED } from './evaluation-rows.ts';

/** Traces that one transaction deletes together with their events. */
const TRACES_AT_ONCE = 50;
/** Attempts that one transaction deletes. */
const TASKS_AT_ONCE = 500;
/**
 * Deletes the rest of a deleted evaluation: its traces as their attempts end, then its rows. It can be interrupted at
 * any point and repeated; two concurrent calls do no harm.
 *
 * @throws the reason of the signal.
 */
export async function removeEvaluation(
  options: CancelOptions,
  evaluationId: string,
  signal: AbortSignal,
): Promise<void> {
  await endQueued(options, evaluationId, signal);
  while (await removeSomeTraces(options, evaluationId, signal)) signal.throwIfAborted();
  await removeRows(options, evaluationId, signal);
}

/** @returns false if none are left. */
async function removeSomeTraces(
  { database }: CancelOptions,
  evaluationId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const rows = await database.kysely
    .selectFrom('traces')
    .select('trace_id')
    .where('evaluation_id', '=', evaluationId)
    .where('status', 'not in', UNFINISHED)
    .limit(TRACES_AT_ONCE)
    .execute();
  if (rows.length > 0) {
    await removeTraces(
      database,
      rows.map(({ trace_id }) => trace_id),
    );
    return true;
  }
  const running = await database.kysely
    .selectFrom('traces')
    .select('trace_id')
    .where('evaluation_id', '=', evaluationId)
    .limit(1)
    .executeTakeFirst();
  if (running === undefined) return false;
  await sleep(PERIODS_MS.removals, signal);
  return true;
}

/** Deletes rows in batches. An evaluation may have a million attempts, and other writers need their turn. */
async function removeRows({ database }: CancelOptions, evaluationId: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const last = await database.kysely
      .selectFrom('evaluation_tasks')
      .select('task_index')
      .where('evaluation_id', '=', evaluationId)
      .orderBy('task_index', 'desc')
      .limit(1)
      .offset(TASKS_AT_ONCE)
      .executeTakeFirst();
    const from = last === undefined ? 0 : last.task_index + 1;
    await database.transaction(async (transaction) => {
      for (const table of ['evaluation_attempts', 'evaluation_tasks'] as const) {
        await transaction
          .deleteFrom(table)
          .where('evaluation_id', '=', evaluationId)
          .where('task_index', '>=', from)
          .execute();
      }
    });
    if (last === undefined) break;
  }
  await database.kysely.deleteFrom('regrades').where('evaluation_id', '=', evaluationId).execute();
  await database.kysely
    .deleteFrom('evaluations')
    .where('evaluation_id', '=', evaluationId)
    .where('status', '=', DELETED)
    .execute();
}
