import type { Trace } from '../contract/trace.ts';
import type { DatabaseTransaction } from '../database/database.ts';
import type { UsedFigures } from './used-figures.ts';

/** Bins of the summary's histogram, over 0 to 1. */
export const REWARD_BINS = 10;
/** Of traces without a reward. */
export const NO_REWARD_BIN = -1;

/** Writes the figures of a trace that has ended, for summaries and usage. */
export async function insertOutcome(
  transaction: DatabaseTransaction,
  row: { readonly account: string; readonly key_id: string | null; readonly created_at: number },
  trace: Trace,
  used: UsedFigures,
): Promise<void> {
  const { usage } = trace;
  await transaction
    .insertInto('outcomes')
    .values({
      ...row,
      trace_id: trace.trace_id,
      env_name: trace.env_name,
      scenario_name: trace.scenario_name,
      model: trace.model,
      origin: trace.origin,
      status: trace.status,
      reward: trace.reward,
      reward_bin: trace.reward === null ? NO_REWARD_BIN : toBin(trace.reward),
      prompt_tokens: usage.prompt_tokens,
      completion_tokens: usage.completion_tokens,
      total_tokens: usage.total_tokens,
      used_model_calls: used.modelCalls,
      used_prompt_tokens: used.promptTokens,
      used_completion_tokens: used.completionTokens,
      used_total_tokens: used.totalTokens,
      used_ms: used.ms,
      is_deleted: 0,
    })
    .execute();
}

/** What lies outside of 0 to 1 is in the first bin or the last; 1 itself is in the last. */
function toBin(reward: number): number {
  return Math.min(REWARD_BINS - 1, Math.max(0, Math.floor(reward * REWARD_BINS)));
}
