/** Whether a tool is named by one of a scenario's patterns, in which `*` stands for any run of characters. */
export function matchesToolPatterns(name: string, patterns: readonly string[] | null | undefined): boolean {
  return patterns?.some((pattern) => toExpression(pattern).test(name)) ?? true;
}

function toExpression(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
