import { ApiError, messageOf } from '../../contract/errors.ts';
import type { ScenarioEntry } from '../../contract/scenario.ts';
import { checkSessionJudge } from '../../environment/client/scenario-needs.ts';

export interface PlayableOptions {
  /** Configured judge model, if any. */
  readonly judge: string | undefined;
  /** Gets a line for each scenario that is skipped. */
  readonly warn: (line: string) => void;
}

/**
 * Checks that clients of another protocol can play a scenario to its end. These protocols have no simulated user, and
 * their clients cannot name a judge.
 *
 * @throws ApiError `invalid_parameter` that names the scenario and the way out.
 */
export function assertPlayable(entry: ScenarioEntry, judge: string | undefined): void {
  const { short_name, needs = [] } = entry;
  if (needs.includes('user')) {
    const message = `The scenario ${short_name} has a simulated user, which this protocol has no place for.`;
    throw new ApiError('invalid_parameter', message, { param: 'scenario' });
  }
  checkSessionJudge(entry, judge);
}

/**
 * Returns the scenarios that clients can play, and warns about the others.
 *
 * @throws Error with the reasons if no scenario can be played.
 */
export function playableAmong<Found extends { readonly entry: ScenarioEntry }>(
  found: readonly Found[],
  { judge, warn }: PlayableOptions,
): readonly Found[] {
  const reasons: string[] = [];
  const playable = found.filter(({ entry }) => {
    try {
      assertPlayable(entry, judge);
      return true;
    } catch (thrown) {
      reasons.push(messageOf(thrown));
      return false;
    }
  });
  if (playable.length === 0 && found.length > 0) throw new Error(`There is nothing to serve. ${reasons.join(' ')}`);
  for (const reason of reasons) warn(`Not served: ${reason}`);
  return playable;
}
