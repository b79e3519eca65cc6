import type { Outcome } from '../../contract/outcome.ts';
import type { RegradeOutcome } from '../../contract/regrade.ts';
import type { TraceSummary } from '../../contract/trace.ts';
import type { DatabaseTransaction } from '../../database/database.ts';
import { rewardOf } from '../../trace/attempt-rows.ts';
import { toRewardBin } from '../../trace/reward-bins.ts';
import { UNFINISHED } from '../../trace/trace-rows.ts';
import { toJson } from '../to-json.ts';
import type { RegradeParts } from './begin-replays.ts';

/** Rows of one look at most. */
const MAX_SETTLED = 200;

/** Writes how the replays of a job have ended, and the grades that they give. @returns how many rows. */
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

/** Rows whose replay has ended, or is not there any more. */
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

/** Two processes may come to it at once: the row says who was first. */
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
  /** The reward by the new grade. */
  readonly after: number | null;
  /** The difference, or the error. */
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
  return parent.evaluation_id === null ? replay.reward : rewardOf(replay);
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
