import type { Trace } from '../../../contract/service/trace.ts';
import type { OutcomesTable } from '../../database/tables/schema.ts';
import { toRewardBin } from './reward-bins.ts';
import type { UsageTotals } from './usage-totals.ts';

/** The columns of an outcome that come from the trace's row. */
export interface OutcomeOwner {
  readonly account: string;
  readonly key_id: string | null;
  /** Milliseconds since 1970. */
  readonly created_at: number;
}

/** The outcome of a finished trace, for summaries and usage. */
export function toOutcomeRow(owner: OutcomeOwner, trace: Trace, used: UsageTotals): OutcomesTable {
  const { usage } = trace;
  return {
    account: owner.account,
    key_id: owner.key_id,
    created_at: owner.created_at,
    trace_id: trace.trace_id,
    env_name: trace.env_name,
    scenario_name: trace.scenario_name,
    model: trace.model,
    origin: trace.origin,
    status: trace.status,
    reward: trace.reward,
    reward_bin: toRewardBin(trace.reward),
    prompt_tokens: usage.prompt_tokens,
    completion_tokens: usage.completion_tokens,
    total_tokens: usage.total_tokens,
    used_model_calls: used.modelCalls,
    used_prompt_tokens: used.promptTokens,
    used_completion_tokens: used.completionTokens,
    used_total_tokens: used.totalTokens,
    used_ms: used.ms,
    is_deleted: 0,
    is_superseded: 0,
    grade_reward: null,
    grade_bin: null,
  };
}
