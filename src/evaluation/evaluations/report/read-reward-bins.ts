import { sql } from 'kysely';
import type { GradesQuery } from '../../../contract/service/replay.ts';
import type { Database } from '../../../store/database/database.ts';
import { REWARD_BINS, toRewardBin } from '../../../store/traces/rows/reward-bins.ts';
import type { EvaluationPlan } from '../evaluation-plan.ts';
import { resultColumns } from './read-cells.ts';

/** Number of rewards in each bin of `toRewardBin`, for each model of an evaluation in order. */
export async function readRewardBins(
  { scans }: Database,
  { evaluationId, models }: EvaluationPlan,
  grades?: GradesQuery,
): Promise<number[][]> {
  const { reward } = resultColumns(grades);
  const { rows } = await sql<{ model_index: number; value: number; count: number }>`
    select model_index, ${reward} as value, count(*) as count from evaluation_attempts
    where evaluation_id = ${evaluationId} and state = 'done' and ${reward} is not null
    group by model_index, ${reward}`.execute(scans);
  const bins = models.map(() => new Array<number>(REWARD_BINS).fill(0));
  for (const { model_index, value, count } of rows) {
    const ofModel = bins[model_index];
    const bin = toRewardBin(value);
    if (ofModel !== undefined) ofModel[bin] = (ofModel[bin] ?? 0) + Number(count);
  }
  return bins;
}
