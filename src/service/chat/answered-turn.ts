import type { ToolCall, Usage } from '../../contract/chat.ts';
import { sumUsage } from '../../contract/service/usage.ts';
import type { Svc } from '../../contract/session.ts';
import type { ReplyHead } from '../../models/dialects/dialect.ts';
import type { ModelOutput } from '../../models/dialects/model-output.ts';
import type { TurnResult } from '../../rollout/session/turn.ts';

/** An answered turn, in the form that all protocols are built from. */
export interface AnsweredTurn {
  /** Text of all responses, joined by a blank line. */
  readonly text: string;
  /** Text of the last response; `""` if it has none. */
  readonly answer: string;
  readonly refusal: string | null;
  readonly finishReason: 'stop' | 'length' | 'content_filter';
  readonly toolCalls: readonly ToolCall[];
  readonly usage: Usage;
}

/** Separator between the responses of one turn. */
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

/** The reply to a turn, before a protocol formats it. */
export interface TurnReply {
  readonly head: ReplyHead;
  /** The turn as one response of a model. */
  readonly output: ModelOutput;
  readonly svc: Svc;
}

export function toTurnReply(head: ReplyHead, turn: AnsweredTurn, svc: Svc): TurnReply {
  const { text, refusal, finishReason, usage } = turn;
  const message = { role: 'assistant', content: text, reasoning: null, refusal, tool_calls: [] } as const;
  return {
    head,
    output: { message: { ...message, tool_calls: [] }, finishReason, usage, tokenIds: null, logprobs: null },
    svc,
  };
}
