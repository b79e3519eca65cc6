import type { Outcome } from '../../contract/service/outcome.ts';

/** How an attempt stands: its outcome, or where it is before that. */
export type CellState = Outcome | 'running' | 'waiting' | 'none';

/** All of them, with the letters that replies have for them. `none`: it has not begun. */
export const CELL_LETTERS: Readonly<Record<CellState, string>> = {
  graded: 'g',
  limit: 'l',
  refused: 'f',
  agent_error: 'a',
  model_error: 'm',
  infra_error: 'i',
  grader_error: 'e',
  invalid: 'x',
  over_budget: 'b',
  cancelled: 'c',
  running: 'r',
  waiting: 'w',
  none: '.',
};

/** Outcomes that have a reward, and those that are run again (`contract/service/outcome`, which browsers would have to load with its schemas). */
export const GRADED_STATES = ['graded', 'limit', 'refused', 'agent_error'] as const satisfies readonly Outcome[];
export const RERUN_STATES = [
  'model_error',
  'infra_error',
  'grader_error',
  'invalid',
] as const satisfies readonly Outcome[];

export const CELL_STATES = [
  ...GRADED_STATES,
  ...RERUN_STATES,
  'over_budget',
  'cancelled',
  'running',
  'waiting',
  'none',
] as const satisfies readonly CellState[];

export function isGraded(state: CellState): boolean {
  return (GRADED_STATES as readonly CellState[]).includes(state);
}

/** Most attempts of a task and model that are drawn one by one. Beyond this, only counts are shown. */
export const MOST_DRAWN_ATTEMPTS = 32;

export const TASK_SORTS = ['id', 'mean', 'differs'] as const;
export type TaskSort = (typeof TASK_SORTS)[number];

/** `passed` and `failed` are about the reward: at or above the threshold, or below it. */
export const CELL_FILTERS = ['passed', 'failed', ...CELL_STATES] as const;
export type CellFilter = (typeof CELL_FILTERS)[number];

/** Attempts of one task with one model. */
export interface CellGroup {
  /** Over those that have a reward; null: none has. */
  readonly mean: number | null;
  /** One letter for each attempt, in order; absent if too many to draw. */
  readonly states?: string;
  readonly rewards?: readonly (number | null)[];
  /** Id of the latest trace of each attempt; null: it has none yet. */
  readonly traces?: readonly (string | null)[];
  /** Number of attempts by letter, and of passed ones, if too many to draw. */
  readonly counts?: Readonly<Record<string, number>>;
  readonly passed?: number;
}

export interface MatrixRow {
  readonly id: string;
  /** In the order of the shown models. */
  readonly groups: readonly CellGroup[];
}

/** All attempts of one model. */
export interface ModelCells {
  readonly model: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly passed: number;
  /** Number of rewards by their bin (`store/traces/rows/reward-bins`): below 0, 0, tenths, 1, above 1. */
  readonly bins: readonly number[];
}

/** Answer of `GET /data/evaluations/{evaluation_id}`: what the page of an evaluation draws, compact. */
export interface EvaluationData {
  readonly status: string;
  /** Attempts that have ended. */
  readonly done: number;
  /** Grows when an attempt changes. */
  readonly version: number;
  /** Milliseconds after which it is worth to ask again; null: it has ended. */
  readonly again_ms: number | null;
  /** Absent where nothing has changed since the version that the request names. */
  readonly cells?: MatrixPage;
}

export interface MatrixPage {
  readonly attempts: number;
  readonly tasks: number;
  readonly pass_threshold: number;
  readonly models: readonly ModelCells[];
  /** Names of the models that the rows have. */
  readonly shown: readonly string[];
  /** Tasks that match. */
  readonly matched: number;
  /** The first of these rows. */
  readonly offset: number;
  readonly rows: readonly MatrixRow[];
}

/** Answer of `GET /data/evaluations/compared`: tasks of two models, those that differ most first. */
export interface ComparedTasks {
  readonly pass_threshold: number;
  readonly matched: number;
  readonly offset: number;
  readonly rows: readonly ComparedTask[];
}

export interface ComparedTask {
  readonly id: string;
  /** b − a. */
  readonly difference: number;
  readonly a: CellGroup;
  readonly b: CellGroup;
}

export const COMPARED_KINDS = ['won', 'lost', 'tied'] as const;
export type ComparedKind = (typeof COMPARED_KINDS)[number];
