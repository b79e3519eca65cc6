import type { HarnessUsage } from '../../../contract/chat.ts';
import { withoutRounding } from '../../../support/text/figures.ts';

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

type Purpose = 'user' | 'judge' | 'sample';

/** Usage of the models that a harness calls, by purpose. */
export class HarnessUsages {
  readonly #used = new Map<Purpose, HarnessUsage>();

  add(purpose: Purpose, usage: HarnessUsage): void {
    const before = this.#used.get(purpose);
    this.#used.set(purpose, before === undefined ? usage : addHarnessUsage(before, usage));
  }

  /** Fields of a trace's `usage`. A purpose without calls has no field. */
  toFields(): Partial<Record<Purpose, HarnessUsage>> {
    return Object.fromEntries(this.#used);
  }
}

/** Adds two usages. The cost is null when one of them is unknown. */
function addHarnessUsage(a: HarnessUsage, b: HarnessUsage): HarnessUsage {
  return {
    model_calls: a.model_calls + b.model_calls,
    prompt_tokens: a.prompt_tokens + b.prompt_tokens,
    completion_tokens: a.completion_tokens + b.completion_tokens,
    total_tokens: a.total_tokens + b.total_tokens,
    cost_usd: a.cost_usd === null || b.cost_usd === null ? null : withoutRounding(a.cost_usd + b.cost_usd),
  };
}
