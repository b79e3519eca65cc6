import { readableText } from '../../contract/content-text.ts';
import type { DatasetFormat, DatasetSelect } from '../../contract/service/dataset.ts';
import type { Step, Trace } from '../../contract/service/trace.ts';
import type { Task } from '../../contract/task.ts';
import { isCutForModel } from '../../models/dialects/chat/transcript-to-chat.ts';
import { isReferenceModel } from '../../models/gateway/reference/reference-models.ts';
import { isRepairRequest } from '../../rollout/session/answer.ts';
import { isCutResult } from '../../rollout/session/result-budget.ts';
import type { SourceRow } from './select-rows.ts';

export interface SelectRules {
  readonly format: DatasetFormat;
  readonly select: DatasetSelect;
  /** The origin in the source's filter. */
  readonly origin: string | undefined;
}

/** Prefix of models that `proctor/imitation` trained. */
const TRAINED_HERE = 'proctor/imitation:';

/** The reason to leave out a trace, judged by its row; undefined when it may stay. */
export function rowReason(row: SourceRow, task: Task | undefined, rules: SelectRules): string | undefined {
  const { select, origin } = rules;
  if (row.is_superseded === 1) return 'superseded';
  // These traces tested an environment, or no model of this installation played them.
  if (row.origin === 'check') return 'origin_check';
  if ((row.origin === 'import' || row.origin === 'replay') && origin !== row.origin) return `origin_${row.origin}`;
  if (row.status !== 'completed') return 'not_completed';
  if (row.outcome !== null && !isTakenOutcome(row.outcome, rules)) return `outcome_${row.outcome}`;
  if (row.reward === null) return 'no_reward';
  if (row.reward < select.min_reward && rules.format !== 'openai-dpo') return 'low_reward';
  if (select.splits === undefined) return undefined;
  const split = task?.split ?? 'train';
  return split !== 'test' && task?.held_out !== true && select.splits.includes(split) ? undefined : 'other_split';
}

/** The reason to leave out a trace, judged by its events; undefined when it may stay. */
export function traceReason(trace: Trace, rules: SelectRules): string | undefined {
  if (trace.outcome !== null && !isTakenOutcome(trace.outcome, rules)) return `outcome_${trace.outcome}`;
  if (!rules.select.include_reference && isPlayedByReference(trace)) return 'reference_model';
  if (trace.steps.length === 0) return 'no_model_calls';
  if (trace.steps.some(isOfOwnAgent)) return 'agent_conversation';
  if (trace.steps.some(({ finish_reason: reason }) => reason === 'length')) return 'cut_by_length';
  if (trace.turns.some(isRepair)) return 'repaired_answer';
  if (trace.steps.some(hasCutResult)) return 'cut_result';
  return undefined;
}

/** True for outcomes that a format can use. A pair needs a failed run, and a run that reached a limit counts as one. */
function isTakenOutcome(outcome: string, { format }: SelectRules): boolean {
  return outcome === 'graded' || (format === 'openai-dpo' && outcome === 'limit');
}

function isPlayedByReference({ model, model_target: target }: Trace): boolean {
  return [model, target].some((name) => isReferenceModel(name) && !name.startsWith(TRAINED_HERE));
}

/** True for a step of an external agent. Such a step keeps the agent's own conversation with its model in `input`. */
function isOfOwnAgent(step: Step): boolean {
  return Object.hasOwn(step, 'input') && Reflect.get(step, 'input') !== undefined;
}

function isRepair({ messages }: Trace['turns'][number]): boolean {
  return messages.some(({ role, content }) => role === 'user' && isRepairRequest(readableText(content)));
}

function hasCutResult({ tool_results: results }: Step): boolean {
  return results.some(({ tool_call_id, name, content, structured_content: structured, is_error }) => {
    const isObject = typeof structured === 'object' && structured !== null && !Array.isArray(structured);
    const shown = { tool_call_id, name, content, structured_content: isObject ? structured : null, is_error };
    return isCutResult(content) || isCutForModel({ role: 'tool', ...shown });
  });
}
