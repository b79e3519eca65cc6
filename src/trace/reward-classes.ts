/** Classes of the reward: what each sum is kept by, so that a range of rewards is a list of classes. */
export const NO_REWARD = -1;
const BELOW_ZERO = 0;
const ZERO = 1;
/** The tenths of what lies between 0 and 1, without those two. */
const FIRST_TENTH = 2;
const LAST_TENTH = 11;
const ONE = 12;
const ABOVE_ONE = 13;

export const REWARD_CLASSES: readonly number[] = Array.from({ length: ABOVE_ONE + 1 }, (_, index) => index);

/** Bins of the summary's histogram, over 0 to 1. */
export const REWARD_BINS = 10;

/** What lies below 0, 0 itself, the tenths between, 1 itself, and what lies above. */
export function toRewardClass(reward: number | null): number {
  if (reward === null) return NO_REWARD;
  if (reward < 0) return BELOW_ZERO;
  if (reward === 0) return ZERO;
  if (reward > 1) return ABOVE_ONE;
  return reward === 1 ? ONE : Math.min(LAST_TENTH, FIRST_TENTH + Math.floor(reward * REWARD_BINS));
}

/** The bin of the histogram that a class is a part of. */
export function binOfClass(rewardClass: number): number {
  return Math.min(REWARD_BINS - 1, Math.max(0, rewardClass - FIRST_TENTH));
}

/** Passed is a reward of 1 or more. */
export function isPassed(rewardClass: number): boolean {
  return rewardClass >= ONE;
}

/**
 * How a class lies to a range of rewards, both ends inclusive. Of one that lies in it in part, or by rounding may, the
 * rewards have to be looked at.
 */
export function placeOfClass(
  rewardClass: number,
  {
    minReward = -Infinity,
    maxReward = Infinity,
  }: { readonly minReward?: number | undefined; readonly maxReward?: number | undefined },
): 'inside' | 'outside' | 'partial' {
  const [lowest, highest] = boundsOf(rewardClass);
  if (minReward <= lowest && highest <= maxReward) return 'inside';
  return highest < minReward || lowest > maxReward ? 'outside' : 'partial';
}

/** A reward next to the border of two tenths may be in either, since multiplying by ten rounds. */
const ROUNDING = 1e-9;

function boundsOf(rewardClass: number): readonly [lowest: number, highest: number] {
  if (rewardClass === BELOW_ZERO) return [-Infinity, -Number.MIN_VALUE];
  if (rewardClass === ZERO) return [0, 0];
  if (rewardClass === ONE) return [1, 1];
  if (rewardClass === ABOVE_ONE) return [1 + Number.EPSILON, Infinity];
  const tenth = rewardClass - FIRST_TENTH;
  return [
    rewardClass === FIRST_TENTH ? Number.MIN_VALUE : tenth / REWARD_BINS - ROUNDING,
    rewardClass === LAST_TENTH ? 1 - Number.EPSILON / 2 : (tenth + 1) / REWARD_BINS + ROUNDING,
  ];
}
