import type { ToolCall, Usage } from '../contract/chat.ts';
import { sumUsage } from '../contract/usage.ts';
import type { TurnResult } from '../rollout/turn.ts';

/** A turn that was answered, as every surface tells it. */
export interface AnsweredTurn {
  /** All text of its responses, joined by a blank line. */
  readonly text: string;
  /** Text of the last response, or "". */
  readonly answer: string;
  readonly refusal: string | null;
  readonly finishReason: 'stop' | 'length' | 'content_filter';
  readonly toolCalls: readonly ToolCall[];
  readonly usage: Usage;
}

/** Between the texts of the responses of one turn. */
export const TEXT_SEPARATOR = '\n\n';

export function toAnsweredTurn({ status, responses, answer }: TurnResult): AnsweredTurn {
  const last = responses.at(-1);
  const texts = responses.map(({ message }) => message.content ?? '').filter((text) => text !== '');
  const reason = last?.finishReason;
  return {
    text: texts.join(TEXT_SEPARATOR),
    answer,
    refusal: last?.message.refusal ?? null,
    finishReason:
      status === 'max_steps' || reason === 'length' ? 'length' : reason === 'content_filter' ? reason : 'stop',
    toolCalls: responses.flatMap(({ message }) => message.tool_calls),
    usage: sumUsage(responses.map(({ usage }) => usage)),
  };
}
