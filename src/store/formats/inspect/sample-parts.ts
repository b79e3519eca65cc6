import type { Usage } from '../../../contract/chat.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { Step } from '../../../contract/service/trace.ts';
import { withoutUndefined } from '../extension.ts';

/** Position of a sample in its log; unique within the log. */
export interface SamplePlace {
  readonly id: string;
  /** Counted from 1. */
  readonly epoch: number;
}

/** Name of the scorer that holds the reward. */
export const REWARD = 'reward';

export function toAssistant({ message }: Step, model: string): JsonObject {
  const { content, reasoning, tool_calls: calls } = message;
  const text = content ?? message.refusal ?? '';
  return withoutUndefined({
    role: 'assistant',
    content:
      reasoning === null
        ? text
        : [
            { type: 'reasoning', reasoning },
            { type: 'text', text },
          ],
    source: 'generate',
    model,
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map(({ id, name, arguments: given, raw_arguments: raw }) => ({
            id,
            function: name,
            arguments: given,
            type: 'function',
            ...(raw === null ? {} : { parse_error: `The arguments are no JSON object: ${raw.slice(0, 1_000)}` }),
          })),
  });
}

const STOP_REASONS = { stop: 'stop', length: 'max_tokens', tool_calls: 'tool_calls', content_filter: 'content_filter' };

export function toOutput(step: Step, model: string): JsonObject {
  return {
    model,
    choices: [{ message: toAssistant(step, model), stop_reason: STOP_REASONS[step.finish_reason] }],
    completion: step.message.content ?? '',
    usage: toModelUsage(step.usage),
    time: step.model_ms / 1_000,
  };
}

/** Usage in Inspect's form, which counts cached tokens separately. */
export function toModelUsage(usage: Usage): JsonObject {
  const cached = Math.min(usage.cached_tokens, usage.prompt_tokens);
  return withoutUndefined({
    input_tokens: usage.prompt_tokens - cached,
    output_tokens: usage.completion_tokens,
    total_tokens: usage.total_tokens,
    input_tokens_cache_read: cached,
    reasoning_tokens: usage.reasoning_tokens,
    total_cost: usage.cost_usd ?? undefined,
  });
}
