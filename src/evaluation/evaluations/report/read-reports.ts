import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import type { Report } from '../../../contract/service/evaluation.ts';
import type { Database } from '../../../store/database/database.ts';
import type { DatabaseSchema } from '../../../store/database/tables/schema.ts';
import { withoutRounding } from '../../../support/text/figures.ts';
import { type EvaluationPlan, readPlan } from '../evaluation-plan.ts';
import { ModelCells } from './model-cells.ts';
import { type CellOptions, rangesOf, readCells } from './read-cells.ts';
import { type ModelSums, toReport } from './to-report.ts';

/**
 * A report for each model, in the order of the evaluation's models; of one that has not ended, over what has ended.
 *
 * @throws ApiError evaluation_not_found, also for one that is deleted meanwhile.
 */
export async function readReports(
  database: Database,
  evaluationId: string,
  { grades }: Pick<CellOptions, 'grades'> = {},
): Promise<readonly Report[]> {
  const plan = await readPlan(database.kysely, evaluationId);
  const clusters = await readClusters(database.scans, plan);
  const cells = await readModelCells(database.scans, plan, { withSpreads: true, grades });
  const sums = await readSums(database.scans, plan);
  await readPlan(database.kysely, evaluationId); // Rows that were deleted meanwhile would count as missing.
  const reports: Report[] = [];
  for (const [index, model] of plan.models.entries()) {
    await nextTurn(); // With many tasks each takes some milliseconds.
    const input = { plan, model, clusters, cells: cells[index] ?? new ModelCells(0), sums: sums[index] ?? NO_SUMS };
    reports.push(toReport(input));
  }
  return reports;
}

/** By the index of the model. */
export async function readModelCells(
  queries: Kysely<DatabaseSchema>,
  plan: EvaluationPlan,
  options: Pick<CellOptions, 'withSpreads' | 'grades'> = {},
): Promise<readonly ModelCells[]> {
  const models = plan.models.map(() => new ModelCells(plan.tasks));
  for (const range of rangesOf(plan)) {
    for (const cell of await readCells(queries, plan, range, options)) models[cell.modelIndex]?.add(cell);
  }
  return models;
}

/** A number for each task, the same for tasks of one cluster. */
export async function readClusters(
  queries: Kysely<DatabaseSchema>,
  { evaluationId, tasks }: EvaluationPlan,
): Promise<Int32Array> {
  const { rows } = await sql<{ readonly members: string }>`
    select string_agg(cast(task_index as text), ' ') as members from evaluation_tasks
    where evaluation_id = ${evaluationId} group by cluster having count(*) > 1`.execute(queries);
  const clusters = Int32Array.from({ length: tasks }, (_, index) => index);
  for (const { members } of rows) {
    const [first = 0, ...others] = members.split(' ').map(Number);
    for (const index of others) clusters[index] = first;
  }
  return clusters;
}

interface SumRow {
  readonly model_index: number;
  readonly reruns: number;
  readonly prompt: number;
  readonly completion: number;
  readonly total: number;
  readonly usd: number | null;
  readonly unknown_usd: number;
  readonly user_usd: number | null;
  readonly unknown_user: number;
  readonly judge_usd: number | null;
  readonly unknown_judge: number;
  readonly earlier_usd: number | null;
  readonly unknown_earlier_usd: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
}

/** Task by task first, as the rows lie: sorting all of them by model takes twice as long. */
async function readSums(
  queries: Kysely<DatabaseSchema>,
  { evaluationId, models }: EvaluationPlan,
): Promise<readonly ModelSums[]> {
  const { rows } = await sql<SumRow>`
    select model_index, sum(reruns) as reruns, sum(prompt) as prompt, sum(completion) as completion,
      sum(total) as total, sum(usd) as usd, sum(unknown_usd) as unknown_usd,
      sum(user_usd) as user_usd, sum(unknown_user) as unknown_user, sum(judge_usd) as judge_usd,
      sum(unknown_judge) as unknown_judge, sum(earlier_usd) as earlier_usd,
      sum(unknown_earlier_usd) as unknown_earlier_usd, min(started_at) as started_at, max(finished_at) as finished_at
    from (
      select model_index, sum(rerun) as reruns, sum(prompt_tokens) as prompt, sum(completion_tokens) as completion,
        sum(total_tokens) as total, sum(cost_usd) as usd, sum(${UNKNOWN_USD}) as unknown_usd,
        sum(user_usd) as user_usd, sum(case when user_usd is null then 1 else 0 end) as unknown_user,
        sum(judge_usd) as judge_usd, sum(case when judge_usd is null then 1 else 0 end) as unknown_judge,
        sum(earlier_usd) as earlier_usd, sum(${UNKNOWN_EARLIER_USD}) as unknown_earlier_usd,
        min(started_at) as started_at, max(finished_at) as finished_at
      from evaluation_attempts where evaluation_id = ${evaluationId} group by task_index, model_index
    ) as cells group by model_index`.execute(queries);
  const byModel = new Map(rows.map((row) => [row.model_index, toSums(row)]));
  return models.map((_, index) => byModel.get(index) ?? NO_SUMS);
}

/** An attempt that called no model cost nothing. */
export const UNKNOWN_USD = sql<number>`case when cost_usd is null and (steps > 0 or total_tokens > 0) then 1 else 0 end`;
/** A user or a judge without a price. */
export const UNKNOWN_HARNESS_USD = sql<number>`case when user_usd is null or judge_usd is null then 1 else 0 end`;
export const UNKNOWN_EARLIER_USD = sql<number>`case when earlier_usd is null and rerun > 0 then 1 else 0 end`;

function toSums(row: SumRow): ModelSums {
  const agent = row.unknown_usd > 0 ? null : withoutRounding(row.usd ?? 0);
  const user = row.unknown_user > 0 ? null : withoutRounding(row.user_usd ?? 0);
  const judge = row.unknown_judge > 0 ? null : withoutRounding(row.judge_usd ?? 0);
  const isKnown = agent !== null && user !== null && judge !== null;
  const { started_at, finished_at } = row;
  const hasEnded = started_at !== null && finished_at !== null;
  return {
    reruns: row.reruns,
    tokens: { prompt: row.prompt, completion: row.completion, total: row.total },
    cost: { agent, user, judge, total: isKnown ? withoutRounding(agent + user + judge) : null },
    reruns_cost: row.unknown_earlier_usd > 0 ? null : withoutRounding(row.earlier_usd ?? 0),
    wall_ms: hasEnded ? Math.max(0, finished_at - started_at) : null,
  };
}

const NO_SUMS: ModelSums = {
  reruns: 0,
  tokens: { prompt: 0, completion: 0, total: 0 },
  cost: { agent: 0, user: 0, judge: 0, total: 0 },
  reruns_cost: 0,
  wall_ms: null,
};
