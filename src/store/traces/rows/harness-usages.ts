import type { HarnessUsage } from '../../../contract/chat.ts';
import { withoutRounding } from '../../../support/text/figures.ts';

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
