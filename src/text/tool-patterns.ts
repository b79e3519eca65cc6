import { didYouMean } from './did-you-mean.ts';

/** Whether a tool is named by one of a scenario's patterns, in which `*` stands for any run of characters. */
export function matchesToolPatterns(name: string, patterns: readonly string[] | null | undefined): boolean {
  return patterns?.some((pattern) => toExpression(pattern).test(name)) ?? true;
}

/**
 * The problem of a scenario's patterns: those that name no tool.
 *
 * @returns undefined where each names one.
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

function toExpression(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
