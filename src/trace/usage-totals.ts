import type { HarnessUsage } from '../contract/chat.ts';

/** Usage of a run over all of its attempts: its agent's, and that of the models which its harness asked. */
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

/** With calls of a model more: of the agent, or of a user, a judge or a sample. */
export function addUsage(
  used: Omit<UsageTotals, 'ms'>,
  usage: Omit<HarnessUsage, 'cost_usd'>,
): Omit<UsageTotals, 'ms'> {
  return {
    modelCalls: used.modelCalls + usage.model_calls,
    promptTokens: used.promptTokens + usage.prompt_tokens,
    completionTokens: used.completionTokens + usage.completion_tokens,
    totalTokens: used.totalTokens + usage.total_tokens,
  };
}
