import {
  type Conversation,
  type ConversationOptions,
  hasImages,
  type LineMessage,
  toConversation,
} from '../conversation.ts';
import type { LineFormat } from '../format.ts';
import { jsonOf } from '../json-of.ts';
import type { Losses } from '../losses.ts';
import { noteTrainingLosses } from './training-losses.ts';

/** A text-only line of `messages` and `tools` for one trainer. */
export interface TextLine {
  readonly name: LineFormat['name'];
  /** Name of the trainer in messages. */
  readonly title: string;
  /** The reason why a conversation has no line; undefined when it has one. */
  readonly problemOf?: (conversation: Conversation) => string | undefined;
  readonly toMessages: (messages: readonly LineMessage[], losses: Losses) => readonly object[];
  /** Default: the list unchanged. */
  readonly toTools?: (tools: Conversation['tools']) => unknown;
}

export function textLineFormat(line: TextLine, options: ConversationOptions): LineFormat {
  const { name, title, problemOf, toMessages, toTools = (tools) => tools } = line;
  return {
    name,
    toLine: (trace, context) => {
      const { losses } = context;
      const conversation = toConversation(trace, context, options);
      if (conversation === undefined) return undefined;
      const problem = hasImages(conversation)
        ? `a line for ${title} is text alone, and the conversation has images`
        : problemOf?.(conversation);
      if (problem !== undefined) {
        losses.add('trace', problem);
        return undefined;
      }
      noteTrainingLosses(trace, losses);
      const { messages, tools } = conversation;
      return jsonOf({ messages: toMessages(messages, losses), ...(tools.length > 0 && { tools: toTools(tools) }) });
    },
  };
}
