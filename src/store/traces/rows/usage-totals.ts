import type { HarnessUsage } from '../../../contract/chat.ts';

/** Usage of a run over all attempts, of its agent and of the models that its harness called. */
export interface UsageTotals {
  readonly modelCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  /** Milliseconds that all attempts ran, each from its start to its end. */
  readonly ms: number;
}

export const NO_USAGE: Omit<UsageTotals, 'ms'> = {
  modelCalls: 0,
  promptTokens: 0,
  completionTokens: 0,
  totalTokens: 0,
};

/** Adds the usage of further model calls, of the agent or of the harness. */
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
