import { checkSessionJudge } from '../client/scenario-needs.ts';
import { ApiError, messageOf } from '../contract/errors.ts';
import type { ScenarioEntry } from '../contract/scenario.ts';

export interface PlayableOptions {
  /** Model that judges; undefined: none is configured. */
  readonly judge: string | undefined;
  /** Told of each scenario that is left out. */
  readonly warn: (line: string) => void;
}

/**
 * Checks that clients of another protocol can play a scenario to its end: none has a place for a simulated user, and none
 * can name a judge.
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
 * The scenarios among these that clients can play; the others are told by name.
 *
 * @throws Error where none of them can be played, with the reasons.
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
