/**
 * Bins of the reward. They are finer than the histogram, so that one grouped query gives mean, pass rate and histogram.
 */
export const NO_REWARD = -1;
const BELOW_ZERO = 0;
const ZERO = 1;
/** The bins of the tenths between 0 and 1, without 0 and 1 themselves. */
const FIRST_TENTH = 2;
const LAST_TENTH = 11;
const ONE = 12;
const ABOVE_ONE = 13;

/** Number of bins of `toRewardBin`. */
export const REWARD_BINS = ABOVE_ONE + 1;

/** Number of bins in the summary's histogram, from 0 to 1. */
export const HISTOGRAM_BINS = 10;

/** The bin of a reward: below 0, exactly 0, one of ten tenths, exactly 1, or above 1. */
export function toRewardBin(reward: number | null): number {
  if (reward === null) return NO_REWARD;
  if (reward < 0) return BELOW_ZERO;
  if (reward === 0) return ZERO;
  if (reward > 1) return ABOVE_ONE;
  return reward === 1 ? ONE : Math.min(LAST_TENTH, FIRST_TENTH + Math.floor(reward * HISTOGRAM_BINS));
}

/** The histogram's bin that contains a reward's bin. */
export function toHistogramBin(rewardBin: number): number {
  return Math.min(HISTOGRAM_BINS - 1, Math.max(0, rewardBin - FIRST_TENTH));
}

/** A reward of 1 or more is a pass. */
export function isPassed(rewardBin: number): boolean {
  return rewardBin >= ONE;
}
