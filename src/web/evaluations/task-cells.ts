import { REWARD_SCALE } from '../../evaluation/evaluations/report/read-cells.ts';
import { toRewardBin } from '../../store/traces/rows/reward-bins.ts';
import { CELL_LETTERS, CELL_STATES, type CellState, type ModelCells } from './evaluation-data.ts';

/** Bins of `toRewardBin`. */
const BINS = 14;

/** The attempts of an evaluation in arrays: 9 bytes for each. An attempt is at `(task × models + model) × attempts + attempt − 1`. */
export interface TaskCells {
  readonly taskIds: readonly string[];
  readonly models: readonly string[];
  /** Number of attempts of each task with each model. */
  readonly attempts: number;
  readonly passThreshold: number;
  /** Index of the state in `CELL_STATES`. */
  readonly states: Uint8Array;
  /** NaN: it has none. */
  readonly rewards: Float64Array;
  /** At `task × models + model`; NaN: no attempt has a reward. */
  readonly means: Float64Array;
  readonly byModel: readonly ModelCells[];
}

export function stateCode(state: CellState): number {
  return CELL_STATES.indexOf(state);
}

/** Adds up what is asked for of every attempt. */
export function toTaskCells(cells: Omit<TaskCells, 'means' | 'byModel'>): TaskCells {
  const { taskIds, models, attempts, states, rewards, passThreshold } = cells;
  const means = new Float64Array(taskIds.length * models.length);
  const sums = models.map(() => ({
    counts: new Uint32Array(CELL_STATES.length),
    bins: new Array<number>(BINS).fill(0),
    passed: 0,
  }));
  for (let group = 0; group < means.length; group++) {
    const sum = sums[group % models.length];
    let total = 0;
    let valid = 0;
    for (let at = group * attempts; at < (group + 1) * attempts; at++) {
      const state = states[at] ?? 0;
      if (sum !== undefined) sum.counts[state] = (sum.counts[state] ?? 0) + 1;
      const reward = rewards[at] ?? Number.NaN;
      if (Number.isNaN(reward)) continue;
      total += reward / REWARD_SCALE;
      valid += 1;
      if (sum === undefined) continue;
      const bin = toRewardBin(reward);
      sum.bins[bin] = (sum.bins[bin] ?? 0) + 1;
      if (reward >= passThreshold) sum.passed += 1;
    }
    means[group] = valid === 0 ? Number.NaN : (total / valid) * REWARD_SCALE;
  }
  const byModel = sums.map(({ counts, bins, passed }, index) => ({
    model: models[index] ?? '',
    counts: byLetter(counts),
    passed,
    bins,
  }));
  return { ...cells, means, byModel };
}

/** Counts by state, as counts by letter; those of nothing are left out. */
export function byLetter(counts: Uint32Array): Readonly<Record<string, number>> {
  const entries = CELL_STATES.map((state, code) => [CELL_LETTERS[state], counts[code] ?? 0] as const);
  return Object.fromEntries(entries.filter(([, count]) => count > 0));
}
