import { didYouMean } from './did-you-mean.ts';

/** True when a tool's name matches one of a scenario's patterns. `*` matches any characters. */
export function matchesToolPatterns(name: string, patterns: readonly string[] | null | undefined): boolean {
  return patterns?.some((pattern) => matches(name, pattern)) ?? true;
}

/**
 * An error message for the patterns of a scenario that match no tool.
 *
 * @returns undefined when each matches a tool.
 */
export function describeUnmatched(
  scenario: string,
  patterns: readonly string[] | undefined,
  names: readonly string[],
): string | undefined {
  const unmatched = (patterns ?? []).filter((pattern) => !names.some((name) => matchesToolPatterns(name, [pattern])));
  if (unmatched.length === 0) return undefined;
  const listed = unmatched.map((pattern) => JSON.stringify(pattern)).join(', ');
  const [meant = ''] = unmatched.map((pattern) => didYouMean(pattern, names)).filter((text) => text !== '');
  return `The scenario ${scenario} allows in "tools" what no tool of the environment matches: ${listed}.${meant} There are: ${names.join(', ') || 'none'}`;
}

/**
 * Matches a pattern in linear time for each star: each star takes as little as possible, and only the last one is
 * retried. A regular expression would backtrack over all stars, which takes forever for twenty of them.
 */
function matches(name: string, pattern: string): boolean {
  let at = 0;
  let from = 0;
  let star: { readonly at: number; readonly from: number } | undefined;
  while (from < name.length) {
    if (pattern[at] === '*') {
      star = { at, from };
      at += 1;
    } else if (pattern[at] === name[from]) {
      at += 1;
      from += 1;
    } else if (star !== undefined) {
      star = { at: star.at, from: star.from + 1 };
      [at, from] = [star.at + 1, star.from];
    } else return false;
  }
  while (pattern[at] === '*') at += 1;
  return at === pattern.length;
}
