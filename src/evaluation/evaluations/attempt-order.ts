import { derivedSeed } from '../../models/gateway/reference/derived-seed.ts';

/** Numbers of tasks, of models, and of attempts for each pair of them. */
export interface AttemptGrid {
  readonly tasks: number;
  readonly models: number;
  readonly attempts: number;
}

export interface AttemptPlace {
  /** Index from 0. */
  readonly taskIndex: number;
  /** Index from 0. */
  readonly modelIndex: number;
  /** Index from 1. */
  readonly attemptIndex: number;
}

export function attemptsInAll({ tasks, models, attempts }: AttemptGrid): number {
  return tasks * models * attempts;
}

/**
 * The attempt at `position`, from 0, in the starting order. All first attempts start before any second one. So an
 * evaluation that ends early has attempts of every task, and more attempts can be added later.
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

/** Number of attempts of a task with a model among the first `position` ones. */
export function begunOf(
  { tasks, models }: Omit<AttemptGrid, 'attempts'>,
  { taskIndex, modelIndex }: Omit<AttemptPlace, 'attemptIndex'>,
  position: number,
): number {
  const first = taskIndex * models + modelIndex;
  return position <= first ? 0 : Math.floor((position - 1 - first) / (tasks * models)) + 1;
}

/**
 * Seed of an attempt, 0 to 2³¹ − 1, equal for all models (contract section 7, "Seed"); null without a seed of the
 * evaluation.
 */
export function seedOf(seed: number | null, taskId: string, attemptIndex: number): number | null {
  if (seed === null) return null;
  return derivedSeed(seed, taskId, attemptIndex);
}
