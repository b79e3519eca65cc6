import { naturalOrder } from '../../support/text/natural-order.ts';
import {
  CELL_LETTERS,
  type CellFilter,
  type CellGroup,
  MOST_DRAWN_ATTEMPTS,
  type TaskSort,
} from './evaluation-data.ts';
import type { DrawnAttempt } from './read-drawn-attempts.ts';
import { addStates, byLetter, type TaskCells } from './task-cells.ts';

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

/** The attempts of a task with one model, as a reply has them. `drawn` gives those that are drawn one by one. */
export function toGroup(
  cells: TaskCells,
  task: number,
  model: number,
  drawn: (attempt: number) => DrawnAttempt | undefined,
): CellGroup {
  const place = placeOf(cells, task, model);
  const cell = cells.cells[place];
  const mean = cell?.mean ?? null;
  if (cells.attempts > MOST_DRAWN_ATTEMPTS) {
    return { mean, counts: byLetter(addStates({}, cells, place)), passed: cell?.passed ?? 0 };
  }
  const attempts = Array.from({ length: cells.attempts }, (_, index) => drawn(index + 1));
  return {
    mean,
    states: attempts.map((each) => CELL_LETTERS[each?.state ?? cells.rest]).join(''),
    rewards: attempts.map((each) => each?.reward ?? null),
    traces: attempts.map((each) => each?.trace ?? null),
  };
}

/** Mean of the rewards of a task with one model; null without any. */
export function meanOf(cells: TaskCells, task: number, model: number): number | null {
  return cells.cells[placeOf(cells, task, model)]?.mean ?? null;
}

function placeOf({ models }: TaskCells, task: number, model: number): number {
  return task * models.length + model;
}

function toFilter(cells: TaskCells, { models, outcome, differing, text }: TaskSelection): (task: number) => boolean {
  const searched = text?.toLowerCase() ?? '';
  const hasText = (task: number) => cells.taskIds[task]?.toLowerCase().includes(searched) === true;
  return (task) =>
    (searched === '' || hasText(task)) &&
    (differing !== true || spreadOf(cells, task, models) > 0) &&
    (outcome === undefined || models.some((model) => hasAttempt(cells, placeOf(cells, task, model), outcome)));
}

function hasAttempt(cells: TaskCells, place: number, filter: CellFilter): boolean {
  const { passed, valid } = cells.cells[place] ?? { passed: 0, valid: 0 };
  if (filter === 'passed') return passed > 0;
  if (filter === 'failed') return passed < valid;
  return addStates({}, cells, place)[filter] !== undefined;
}

/** Smaller ones come first. Undefined: the natural order of the ids. */
function sortKey(cells: TaskCells, { sort, models }: TaskSelection): Float64Array | undefined {
  if (sort === 'id') return undefined;
  const ofTask =
    sort === 'differs'
      ? (task: number) => -spreadOf(cells, task, models)
      : (task: number) => meanOfModels(cells, task, models);
  return Float64Array.from(cells.taskIds, (_, task) => ofTask(task));
}

/** Over the models that have a mean. Tasks without any come last. */
function meanOfModels(cells: TaskCells, task: number, models: readonly number[]): number {
  const means = meansOf(cells, task, models);
  return means.length === 0 ? Number.MAX_VALUE : means.reduce((sum, mean) => sum + mean / means.length, 0);
}

/** From the lowest to the highest: of the means of several models, of the rewards of one. */
function spreadOf(cells: TaskCells, task: number, models: readonly number[]): number {
  const [only = 0, ...others] = models;
  if (others.length === 0) {
    const cell = cells.cells[placeOf(cells, task, only)];
    return (cell?.highest ?? 0) - (cell?.lowest ?? 0);
  }
  const means = meansOf(cells, task, models);
  return means.length === 0 ? 0 : Math.max(...means) - Math.min(...means);
}

function meansOf(cells: TaskCells, task: number, models: readonly number[]): number[] {
  return models.map((model) => meanOf(cells, task, model)).filter((mean) => mean !== null);
}
