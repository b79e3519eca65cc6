import type { GradesQuery } from '../../contract/service/replay.ts';
import { type EvaluationPlan, outcomeOfRest } from '../../evaluation/evaluations/evaluation-plan.ts';
import { type Cell, countOutcomes, rangesOf, readCells } from '../../evaluation/evaluations/report/read-cells.ts';
import { readRewardBins } from '../../evaluation/evaluations/report/read-reward-bins.ts';
import type { Database } from '../../store/database/database.ts';
import { CELL_LETTERS, CELL_STATES, type CellState, type ModelCells } from './evaluation-data.ts';

/** State of an attempt that has begun and is not done. */
export type OpenState = Extract<CellState, 'running' | 'waiting'>;

/** The cells that the report of an evaluation has, with open attempts. Place of a cell: `task × models + model`. */
export interface TaskCells {
  readonly taskIds: readonly string[];
  readonly models: readonly string[];
  /** Number of attempts of each task with each model. */
  readonly attempts: number;
  readonly passThreshold: number;
  /** State of attempts that have not begun. */
  readonly rest: CellState;
  /** By place; undefined without a done attempt. */
  readonly cells: readonly (Cell | undefined)[];
  /** Open attempts by place. There are no more of them than run at once. */
  readonly open: ReadonlyMap<number, readonly OpenState[]>;
  readonly byModel: readonly ModelCells[];
}

/** Ids in the order of the tasks. */
export async function readTaskIds({ scans }: Database, evaluationId: string): Promise<string[]> {
  const rows = await scans
    .selectFrom('evaluation_tasks')
    .select('task_id')
    .where('evaluation_id', '=', evaluationId)
    .orderBy('task_index')
    .execute();
  return rows.map(({ task_id }) => task_id);
}

/** Attempts that are queued, run or wait to be run again. */
export async function readOpen({ kysely }: Database, evaluationId: string) {
  return await kysely
    .selectFrom('evaluation_attempts')
    .select(['task_index', 'model_index', 'state'])
    .where('evaluation_id', '=', evaluationId)
    .where('state', '<>', 'done')
    .execute();
}

export async function readTaskCells(
  database: Database,
  plan: EvaluationPlan,
  taskIds: readonly string[],
  grades?: GradesQuery,
): Promise<TaskCells> {
  const { models, attempts, passThreshold } = plan;
  // Before the cells, so that an attempt that ends in between is done.
  const open = toOpen(await readOpen(database, plan.evaluationId), models.length);
  const cells = new Array<Cell | undefined>(taskIds.length * models.length).fill(undefined);
  for (const range of rangesOf(plan)) {
    for (const cell of await readCells(database.scans, plan, range, { grades })) {
      cells[cell.taskIndex * models.length + cell.modelIndex] = cell;
    }
  }
  const bins = await readRewardBins(database, plan, grades);
  const read = { taskIds, models, attempts, passThreshold, rest: outcomeOfRest(plan) ?? 'none', cells, open } as const;
  return {
    ...read,
    byModel: models.map((model, index) => ({ model, ...sumModel(read, index), bins: bins[index] ?? [] })),
  };
}

/** Number of attempts by state. */
export type StateCounts = Partial<Record<CellState, number>>;

/** Adds the attempts of one task with one model. */
export function addStates(counts: StateCounts, cells: Omit<TaskCells, 'byModel'>, place: number): StateCounts {
  const cell = cells.cells[place];
  if (cell !== undefined) countOutcomes(counts, cell);
  let left = cells.attempts - (cell?.done ?? 0);
  for (const state of cells.open.get(place) ?? []) {
    if (left <= 0) break; // It has ended after it was read as open.
    counts[state] = (counts[state] ?? 0) + 1;
    left -= 1;
  }
  if (left > 0) counts[cells.rest] = (counts[cells.rest] ?? 0) + left;
  return counts;
}

/** Counts by letter instead of by state. States without attempts are left out. */
export function byLetter(counts: StateCounts): Readonly<Record<string, number>> {
  const entries = CELL_STATES.map((state) => [CELL_LETTERS[state], counts[state] ?? 0] as const);
  return Object.fromEntries(entries.filter(([, count]) => count > 0));
}

function sumModel(cells: Omit<TaskCells, 'byModel'>, model: number): Pick<ModelCells, 'counts' | 'passed'> {
  const counts: StateCounts = {};
  let passed = 0;
  for (let place = model; place < cells.cells.length; place += cells.models.length) {
    addStates(counts, cells, place);
    passed += cells.cells[place]?.passed ?? 0;
  }
  return { counts: byLetter(counts), passed };
}

function toOpen(rows: Awaited<ReturnType<typeof readOpen>>, models: number): Map<number, OpenState[]> {
  const open = new Map<number, OpenState[]>();
  for (const { task_index, model_index, state } of rows) {
    const place = task_index * models + model_index;
    const states = open.get(place) ?? [];
    states.push(state === 'waiting' ? 'waiting' : 'running');
    open.set(place, states);
  }
  return open;
}
