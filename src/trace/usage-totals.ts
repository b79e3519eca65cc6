import type { Usage } from '../contract/chat.ts';

/** Usage of a run over all of its attempts. */
export interface UsageTotals {
  readonly modelCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  /** From the start of each attempt to its end. */
  readonly ms: number;
}

export const NO_USAGE: Omit<UsageTotals, 'ms'> = {
  modelCalls: 0,
  promptTokens: 0,
  completionTokens: 0,
  totalTokens: 0,
};

/** With one more model call. */
export function addUsage(used: Omit<UsageTotals, 'ms'>, usage: Usage): Omit<UsageTotals, 'ms'> {
  return {
    modelCalls: used.modelCalls + 1,
    promptTokens: used.promptTokens + usage.prompt_tokens,
    completionTokens: used.completionTokens + usage.completion_tokens,
    totalTokens: used.totalTokens + usage.total_tokens,
  };
}
