import { derivedSeed } from '../model/derived-seed.ts';

/** Numbers of tasks, models, and attempts of each task with each model. */
export interface AttemptGrid {
  readonly tasks: number;
  readonly models: number;
  readonly attempts: number;
}

export interface AttemptPlace {
  /** From 0. */
  readonly taskIndex: number;
  /** From 0. */
  readonly modelIndex: number;
  /** From 1. */
  readonly attemptIndex: number;
}

export function attemptsInAll({ tasks, models, attempts }: AttemptGrid): number {
  return tasks * models * attempts;
}

/**
 * The attempt that begins as number `position`, from 0. All first attempts begin before any second one, so that an
 * evaluation which ends early has something of every task, and more attempts can be added at the end.
 */
export function placeAt({ tasks, models }: Omit<AttemptGrid, 'attempts'>, position: number): AttemptPlace {
  const round = tasks * models;
  const inRound = position % round;
  return {
    attemptIndex: Math.floor(position / round) + 1,
    taskIndex: Math.floor(inRound / models),
    modelIndex: inRound % models,
  };
}

/** How many attempts of a task with a model are among the first `position` that begin. */
export function begunOf(
  { tasks, models }: Omit<AttemptGrid, 'attempts'>,
  { taskIndex, modelIndex }: Omit<AttemptPlace, 'attemptIndex'>,
  position: number,
): number {
  const first = taskIndex * models + modelIndex;
  return position <= first ? 0 : Math.floor((position - 1 - first) / (tasks * models)) + 1;
}

/**
 * The seed of an attempt, 0 to 2³¹ − 1, the same for every model (contract section 7, "Seed"); null without a seed of the
 * evaluation.
 */
export function seedOf(seed: number | null, taskId: string, attemptIndex: number): number | null {
  if (seed === null) return null;
  return derivedSeed(seed, taskId, attemptIndex);
}
