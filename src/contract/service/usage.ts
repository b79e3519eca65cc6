import type { HarnessUsage, Usage } from '../chat.ts';

/** Sums the usage of several model calls. The cost is null unless every call has one. */
export function sumUsage(usages: readonly Usage[]): Usage {
  const costs = usages.map(({ cost_usd }) => cost_usd).filter((cost) => cost !== null);
  return {
    prompt_tokens: sum(usages.map((usage) => usage.prompt_tokens)),
    completion_tokens: sum(usages.map((usage) => usage.completion_tokens)),
    total_tokens: sum(usages.map((usage) => usage.total_tokens)),
    cached_tokens: sum(usages.map((usage) => usage.cached_tokens)),
    reasoning_tokens: sum(usages.map((usage) => usage.reasoning_tokens)),
    cost_usd: usages.length > 0 && costs.length === usages.length ? sum(costs) : null,
  };
}

/** Usage of a model that the harness called. The cost is 0 for a model that was never called. */
export function toHarnessUsage(usages: readonly Usage[]): HarnessUsage {
  const { prompt_tokens, completion_tokens, total_tokens, cost_usd } = sumUsage(usages);
  const cost = usages.length === 0 ? 0 : cost_usd;
  return { model_calls: usages.length, prompt_tokens, completion_tokens, total_tokens, cost_usd: cost };
}

/** Usage of a step or reply that was copied from an earlier run. */
export const REPEATED_USAGE: HarnessUsage = { ...toHarnessUsage([]), cost_usd: 0 };

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
