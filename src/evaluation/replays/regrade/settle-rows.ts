import type { Outcome } from '../../../contract/service/outcome.ts';
import type { RegradeOutcome } from '../../../contract/service/regrade.ts';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import type { DatabaseTransaction } from '../../../store/database/database.ts';
import { toRewardBin } from '../../../store/traces/rows/reward-bins.ts';
import { UNFINISHED } from '../../../store/traces/rows/trace-rows.ts';
import { toJson } from '../to-json.ts';
import type { RegradeParts } from './begin-replays.ts';

/** Most rows of one round. */
const MAX_SETTLED = 200;

/** Stores the ends of a job's replays, and their grades. @returns the number of rows. */
export async function settleRows(parts: RegradeParts, jobId: string, signal: AbortSignal): Promise<number> {
  const ended = await readEnded(parts, jobId);
  for (const row of ended) {
    if (signal.aborted) break;
    const replay = row.status === null ? undefined : await parts.store.traceSummary(row.replay_trace_id ?? '');
    const parent = await parts.store.traceSummary(row.trace_id);
    await parts.database.transaction((transaction) => settle(transaction, { ...row, replay, parent }, parts.now()));
  }
  return ended.length;
}

/** Rows whose replay has ended or was deleted. */
async function readEnded({ database }: RegradeParts, jobId: string) {
  return await database.kysely
    .selectFrom('regrade_rows as row')
    .leftJoin('traces as replay', 'replay.trace_id', 'row.replay_trace_id')
    .select([
      'row.job_id',
      'row.row_index',
      'row.trace_id',
      'row.replay_trace_id',
      'row.reward_before',
      'replay.status',
    ])
    .where('row.job_id', '=', jobId)
    .where('row.state', '=', 'running')
    .where(({ eb, or }) => or([eb('replay.status', 'is', null), eb('replay.status', 'not in', UNFINISHED)]))
    .limit(MAX_SETTLED)
    .execute();
}

type EndedRow = Awaited<ReturnType<typeof readEnded>>[number] & {
  readonly replay: TraceSummary | undefined;
  readonly parent: TraceSummary | undefined;
};

/** Settles a row once, even if two processes try at the same time. */
async function settle(transaction: DatabaseTransaction, row: EndedRow, now: number): Promise<void> {
  const { outcome, after, detail } = toEnd(row);
  const won = await transaction
    .updateTable('regrade_rows')
    .set({ state: 'done', outcome, reward_after: after, detail: detail === null ? null : JSON.stringify(detail) })
    .where('job_id', '=', row.job_id)
    .where('row_index', '=', row.row_index)
    .where('state', '=', 'running')
    .returning('row_index')
    .executeTakeFirst();
  const { replay, parent } = row;
  if (won === undefined || replay === undefined || parent === undefined) return;
  if (outcome === 'same' || outcome === 'changed') await addGrade(transaction, { replay, parent, after, now });
}

interface RowEnd {
  readonly outcome: RegradeOutcome;
  /** Reward of the new grade. */
  readonly after: number | null;
  /** The difference or the error. */
  readonly detail: unknown;
}

function toEnd({ replay, parent, reward_before: before }: EndedRow): RowEnd {
  const failed = (detail: unknown): RowEnd => ({ outcome: 'failed', after: null, detail });
  if (replay === undefined || parent === undefined) return failed(errorOf('trace_not_found', 'The trace was deleted'));
  const { replay: result, evaluation } = replay;
  if (result === null) return failed(replay.error ?? errorOf('internal_error', `The replay is ${replay.status}`));
  const { difference } = result;
  if (difference !== null && difference.at !== 'reward') return { outcome: 'differs', after: null, detail: difference };
  if (evaluation === null) return failed(replay.error ?? errorOf('environment_failed', 'Nothing was evaluated'));
  const after = gradeReward(parent, replay);
  return { outcome: after !== before ? 'changed' : 'same', after, detail: null };
}

function errorOf(code: string, message: string) {
  return { boundary: 'worker', code, message };
}

/** A run that failed otherwise than by its evaluator has no reward, whatever its evaluation says. */
function gradeReward(parent: TraceSummary, replay: TraceSummary): number | null {
  if (parent.status !== 'completed' && parent.error?.boundary !== 'evaluate') return null;
  return replay.reward;
}

interface NewGrade {
  readonly replay: TraceSummary;
  readonly parent: TraceSummary;
  readonly after: number | null;
  readonly now: number;
}

async function addGrade(transaction: DatabaseTransaction, { replay, parent, after, now }: NewGrade): Promise<void> {
  const traceId = parent.trace_id;
  const last = await transaction
    .selectFrom('grades')
    .select(({ fn }) => fn.max('number').as('number'))
    .where('trace_id', '=', traceId)
    .executeTakeFirst();
  await transaction
    .insertInto('grades')
    .values({
      trace_id: traceId,
      number: Number(last?.number ?? 0) + 1,
      at: now,
      evaluation: JSON.stringify(toJson(replay.evaluation)),
      environment_hash: replay.versions.environment_hash,
    })
    .execute();
  if (after === null) return;
  await transaction.updateTable('traces').set({ grade_reward: after }).where('trace_id', '=', traceId).execute();
  await transaction
    .updateTable('outcomes')
    .set({ grade_reward: after, grade_bin: toRewardBin(after) })
    .where('trace_id', '=', traceId)
    .execute();
  const outcome: Outcome | null = replay.outcome;
  await transaction
    .updateTable('evaluation_attempts')
    .set({ grade_reward: after, grade_outcome: outcome })
    .where('trace_id', '=', traceId)
    .execute();
}
