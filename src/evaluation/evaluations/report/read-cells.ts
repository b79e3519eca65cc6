import { type Kysely, sql } from 'kysely';
import { type Outcome, type OutcomeCounts, outcomeSchema } from '../../../contract/service/outcome.ts';
import type { GradesQuery } from '../../../contract/service/replay.ts';
import type { DatabaseSchema } from '../../../store/database/tables/schema.ts';
import type { EvaluationPlan } from '../evaluation-plan.ts';

/** The attempts of one task with one model that are done. */
export interface Cell {
  readonly taskIndex: number;
  readonly modelIndex: number;
  /** Attempts. */
  readonly done: number;
  /** Attempts with a reward. */
  readonly valid: number;
  /** Mean of their rewards; null without any. */
  readonly mean: number | null;
  /** Lowest and highest of their rewards; null without any. */
  readonly lowest: number | null;
  readonly highest: number | null;
  /** Attempts with a reward at or above the threshold. */
  readonly passed: number;
  /** Outcomes other than `graded`, including repeats. */
  readonly others: readonly Outcome[];
  /** Steps and milliseconds of each attempt with a reward, if requested. */
  readonly spreads: readonly (readonly [steps: number, durationMs: number])[];
}

/** Task indexes from `from` up to, but not including, `to`. */
export interface TaskRange {
  readonly from: number;
  readonly to: number;
}

/** Cells and attempts per query, so that a large evaluation does not fill the memory. */
const CELLS_OF_QUERY = 4_000;
const ATTEMPTS_OF_QUERY = 40_000;

/** Cuts the tasks of an evaluation into ranges that one query reads. */
export function* rangesOf({ tasks, models, attempts }: EvaluationPlan): Generator<TaskRange> {
  const cells = Math.min(CELLS_OF_QUERY, ATTEMPTS_OF_QUERY / attempts);
  const size = Math.max(1, Math.floor(cells / Math.max(1, models.length)));
  for (let from = 0; from < tasks; from += size) yield { from, to: Math.min(tasks, from + size) };
}

export interface CellOptions {
  readonly withSpreads?: boolean;
  /** Only these models, by index; not empty. */
  readonly models?: readonly number[];
  readonly grades?: GradesQuery | undefined;
}

/** Reward and outcome of an attempt: of its run, or of its newest grade if grades were requested. */
export function resultColumns(grades: GradesQuery | undefined) {
  if (grades !== 'current') return { reward: sql<number | null>`reward`, outcome: sql<string | null>`outcome` };
  const current = (name: 'reward' | 'outcome') =>
    sql`case when grade_outcome is null then ${sql.ref(name)} else ${sql.ref(`grade_${name}`)} end`;
  return { reward: sql<number | null>`(${current('reward')})`, outcome: sql<string | null>`(${current('outcome')})` };
}

/**
 * The cells of some tasks, in order of task and model; those without a done attempt are left out. In one statement, so that
 * an attempt that ends meanwhile is in all figures of its cell or in none.
 */
export async function readCells(
  queries: Kysely<DatabaseSchema>,
  { evaluationId, passThreshold }: EvaluationPlan,
  { from, to }: TaskRange,
  { withSpreads = false, models, grades }: CellOptions = {},
): Promise<Cell[]> {
  const { reward, outcome } = resultColumns(grades);
  // As one text, because a row for each attempt would take three times as long.
  const spreads = withSpreads
    ? sql`string_agg(case when ${reward} is not null
        then cast(steps as text) || ':' || cast(coalesce(duration_ms, 0) as text) end, ' ')`
    : sql`cast(null as text)`;
  const { rows } = await sql<CellRow>`
    select task_index, model_index, count(*) as done, count(${reward}) as valid,
      sum(${reward} / ${sql.lit(REWARD_SCALE)}) as reward,
      min(${reward}) as lowest, max(${reward}) as highest, sum(case when ${reward} >= ${passThreshold} then 1 else 0 end) as passed,
      string_agg(case when ${outcome} <> 'graded' then ${outcome} end, ' ') as others, ${spreads} as spreads
    from evaluation_attempts
    where evaluation_id = ${evaluationId} and task_index >= ${from} and task_index < ${to} and state = 'done'
      and ${models === undefined ? sql`true` : sql`model_index in (${sql.join(models)})`}
    group by task_index, model_index order by task_index, model_index`.execute(queries);
  return rows.map(toCell);
}

/** Rewards may be near the largest number. Divided by a power of 2 they keep all digits, and 1,000 of them do not overflow. */
const REWARD_SCALE = 1_024;

interface CellRow {
  readonly task_index: number;
  readonly model_index: number;
  readonly done: number;
  readonly valid: number;
  readonly reward: number | null;
  readonly lowest: number | null;
  readonly highest: number | null;
  readonly passed: number;
  readonly others: string | null;
  readonly spreads: string | null;
}

function toCell(row: CellRow): Cell {
  return {
    taskIndex: row.task_index,
    modelIndex: row.model_index,
    done: row.done,
    valid: row.valid,
    mean: row.reward === null ? null : (row.reward / row.valid) * REWARD_SCALE,
    lowest: row.lowest,
    highest: row.highest,
    passed: row.passed,
    others: row.others === null ? NONE : row.others.split(' ').map((name) => outcomeSchema.parse(name)),
    spreads: row.spreads === null ? NONE : row.spreads.split(' ').map(toSpread),
  };
}

const NONE: readonly never[] = [];

function toSpread(text: string): readonly [number, number] {
  const colon = text.indexOf(':');
  return [Number(text.slice(0, colon)), Number(text.slice(colon + 1))];
}

/** Adds the outcomes of a cell to the counts. */
export function countOutcomes(counts: OutcomeCounts, { done, others }: Pick<Cell, 'done' | 'others'>): void {
  addTo(counts, 'graded', done - others.length);
  for (const outcome of others) addTo(counts, outcome, 1);
}

/** Outcomes that none has are left out. */
export function addTo(counts: OutcomeCounts, outcome: Outcome, count: number): void {
  if (count > 0) counts[outcome] = (counts[outcome] ?? 0) + count;
}
