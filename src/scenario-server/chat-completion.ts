import { randomBytes } from 'node:crypto';
import type { Usage } from '../contract/chat.ts';
import type { ChatUsage } from '../contract/chat-completions.ts';
import type { Svc } from '../contract/session.ts';
import type { AnsweredTurn } from './answered-turn.ts';

/** Fields that all parts of one reply have in common. */
export interface ReplyHead {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
}

/** OpenAI's `chat.completion`, with `svc`. */
export interface ChatCompletion extends ReplyHead {
  readonly object: 'chat.completion';
  readonly choices: readonly [
    {
      readonly index: 0;
      readonly message: {
        readonly role: 'assistant';
        readonly content: string;
        readonly refusal: string | null;
      };
      readonly logprobs: null;
      readonly finish_reason: AnsweredTurn['finishReason'];
    },
  ];
  readonly usage: ChatUsage;
  readonly svc: Svc;
}

export function createReplyHead(model: string, now: number): ReplyHead {
  return { id: `chatcmpl-${randomBytes(12).toString('hex')}`, created: Math.floor(now / 1_000), model };
}

export function toCompletion(head: ReplyHead, turn: AnsweredTurn, svc: Svc): ChatCompletion {
  const message = { role: 'assistant', content: turn.text, refusal: turn.refusal } as const;
  return {
    id: head.id,
    object: 'chat.completion',
    created: head.created,
    model: head.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: turn.finishReason }],
    usage: toChatUsage(turn.usage),
    svc,
  };
}

function toChatUsage(usage: Usage): ChatUsage {
  return {
    prompt_tokens: usage.prompt_tokens,
    completion_tokens: usage.completion_tokens,
    total_tokens: usage.total_tokens,
    prompt_tokens_details: { cached_tokens: usage.cached_tokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
  };
}
