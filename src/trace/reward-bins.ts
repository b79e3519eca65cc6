/** Bins of the reward, finer than the histogram's: a sum for each of them gives mean, pass rate and histogram in one query. */
export const NO_REWARD = -1;
const BELOW_ZERO = 0;
const ZERO = 1;
/** The tenths of what lies between 0 and 1, without those two. */
const FIRST_TENTH = 2;
const LAST_TENTH = 11;
const ONE = 12;
const ABOVE_ONE = 13;

/** Bins of the summary's histogram, over 0 to 1. */
export const HISTOGRAM_BINS = 10;

/** Bins: below 0, exactly 0, the tenths between, exactly 1, above 1. */
export function toRewardBin(reward: number | null): number {
  if (reward === null) return NO_REWARD;
  if (reward < 0) return BELOW_ZERO;
  if (reward === 0) return ZERO;
  if (reward > 1) return ABOVE_ONE;
  return reward === 1 ? ONE : Math.min(LAST_TENTH, FIRST_TENTH + Math.floor(reward * HISTOGRAM_BINS));
}

/** The bin of the histogram that a reward's bin is a part of. */
export function toHistogramBin(rewardBin: number): number {
  return Math.min(HISTOGRAM_BINS - 1, Math.max(0, rewardBin - FIRST_TENTH));
}

/** Passed is a reward of 1 or more. */
export function isPassed(rewardBin: number): boolean {
  return rewardBin >= ONE;
}
