import { naturalOrder } from '../../support/text/natural-order.ts';
import {
  CELL_LETTERS,
  CELL_STATES,
  type CellFilter,
  type CellGroup,
  MOST_DRAWN_ATTEMPTS,
  type TaskSort,
} from './evaluation-data.ts';
import { byLetter, stateCode, type TaskCells } from './task-cells.ts';

export interface TaskSelection {
  readonly sort: TaskSort;
  /** Indexes of the models that count. */
  readonly models: readonly number[];
  /** Tasks with at least one such attempt. */
  readonly outcome?: CellFilter | undefined;
  /** Tasks whose models differ in their mean; of one model, whose attempts differ in their reward. */
  readonly differing?: boolean | undefined;
  /** A part of the id, in whatever case. */
  readonly text?: string | undefined;
}

/** Indexes of the tasks that match, in their order. */
export function selectTasks(cells: TaskCells, selection: TaskSelection): Int32Array {
  const isMatch = toFilter(cells, selection);
  const matching = new Int32Array(cells.taskIds.length);
  let count = 0;
  for (let task = 0; task < cells.taskIds.length; task++) {
    if (isMatch(task)) matching[count++] = task;
  }
  const found = matching.subarray(0, count);
  const key = sortKey(cells, selection);
  const ranks = ranksOf(cells.taskIds);
  const byId = (one: number, other: number) => (ranks[one] ?? 0) - (ranks[other] ?? 0);
  return found.sort(key === undefined ? byId : (one, other) => (key[one] ?? 0) - (key[other] ?? 0) || byId(one, other));
}

/** A list of ids is kept as long as its evaluation is looked at, and its order with it. */
const RANKS = new WeakMap<readonly string[], Int32Array>();

/** The place of each task in the natural order of the ids. */
function ranksOf(taskIds: readonly string[]): Int32Array {
  const known = RANKS.get(taskIds);
  if (known !== undefined) return known;
  const ranks = new Int32Array(taskIds.length);
  for (const [rank, task] of naturalOrder(taskIds).entries()) ranks[task] = rank;
  RANKS.set(taskIds, ranks);
  return ranks;
}

/** The attempts of a task with one model, as a reply has them. `traces` are those of the drawn attempts. */
export function toGroup(
  cells: TaskCells,
  task: number,
  model: number,
  traceOf: (attempt: number) => string | null,
): CellGroup {
  const { attempts, models, states, rewards, means, passThreshold } = cells;
  const group = task * models.length + model;
  const mean = orNull(means[group] ?? Number.NaN);
  const [from, to] = [group * attempts, (group + 1) * attempts];
  if (attempts <= MOST_DRAWN_ATTEMPTS) {
    return {
      mean,
      states: Array.from(states.subarray(from, to), (code) => CELL_LETTERS[CELL_STATES[code] ?? 'none']).join(''),
      rewards: Array.from(rewards.subarray(from, to), orNull),
      traces: Array.from({ length: attempts }, (_, index) => traceOf(index + 1)),
    };
  }
  const counts = new Uint32Array(CELL_STATES.length);
  for (const code of states.subarray(from, to)) counts[code] = (counts[code] ?? 0) + 1;
  const passed = rewards.subarray(from, to).reduce((sum, reward) => sum + (reward >= passThreshold ? 1 : 0), 0);
  return { mean, counts: byLetter(counts), passed };
}

function toFilter(cells: TaskCells, { models, outcome, differing, text }: TaskSelection): (task: number) => boolean {
  const searched = text?.toLowerCase() ?? '';
  const hasText = (task: number) => cells.taskIds[task]?.toLowerCase().includes(searched) === true;
  const hasOutcome = outcome === undefined ? undefined : toCellTest(cells, outcome);
  return (task) =>
    (searched === '' || hasText(task)) &&
    (differing !== true || spreadOf(cells, task, models) > 0) &&
    (hasOutcome === undefined || someCell(cells, task, models, hasOutcome));
}

function toCellTest({ states, rewards, passThreshold }: TaskCells, filter: CellFilter): (at: number) => boolean {
  if (filter === 'passed') return (at) => (rewards[at] ?? Number.NaN) >= passThreshold;
  if (filter === 'failed') return (at) => (rewards[at] ?? Number.NaN) < passThreshold;
  const code = stateCode(filter);
  return (at) => states[at] === code;
}

function someCell(cells: TaskCells, task: number, models: readonly number[], test: (at: number) => boolean): boolean {
  const { attempts } = cells;
  return models.some((model) => {
    const from = (task * cells.models.length + model) * attempts;
    for (let at = from; at < from + attempts; at++) if (test(at)) return true;
    return false;
  });
}

/** Smaller ones come first. Undefined: the natural order of the ids. */
function sortKey(cells: TaskCells, { sort, models }: TaskSelection): Float64Array | undefined {
  if (sort === 'id') return undefined;
  const ofTask =
    sort === 'differs'
      ? (task: number) => -spreadOf(cells, task, models)
      : (task: number) => meanOf(cells, task, models);
  return Float64Array.from(cells.taskIds, (_, task) => ofTask(task));
}

/** Over the models that have one. Tasks without any come last. */
function meanOf({ means, models: all }: TaskCells, task: number, models: readonly number[]): number {
  let sum = 0;
  let count = 0;
  for (const model of models) {
    const mean = means[task * all.length + model] ?? Number.NaN;
    if (Number.isNaN(mean)) continue;
    sum += mean;
    count += 1;
  }
  return count === 0 ? Number.MAX_VALUE : sum / count;
}

/** From the lowest to the highest: of the means of several models, of the rewards of one. */
function spreadOf({ means, rewards, attempts, models: all }: TaskCells, task: number, models: readonly number[]) {
  const [only = 0] = models;
  const from = (task * all.length + only) * attempts;
  let lowest = Number.POSITIVE_INFINITY;
  let highest = Number.NEGATIVE_INFINITY;
  const count = models.length === 1 ? attempts : models.length;
  for (let index = 0; index < count; index++) {
    const value =
      (models.length === 1 ? rewards[from + index] : means[task * all.length + (models[index] ?? 0)]) ?? Number.NaN;
    if (value < lowest) lowest = value;
    if (value > highest) highest = value;
  }
  return highest > lowest ? highest - lowest : 0;
}

function orNull(value: number): number | null {
  return Number.isNaN(value) ? null : value;
}
