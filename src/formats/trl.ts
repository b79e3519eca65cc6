import {
  type ConversationOptions,
  hasImages,
  type LineMessage,
  textOf,
  toConversation,
  withParsedArguments,
} from './conversation.ts';
import type { LineFormat } from './format.ts';
import { jsonOf } from './json-of.ts';
import type { Losses } from './losses.ts';
import { noteTrainingLosses } from './training-losses.ts';

/**
 * A line for TRL: `messages`, and `tools` where there are any. Arguments of calls are objects, which chat templates write
 * out. It has no weights: every turn of the assistant is learned.
 */
export function trlFormat(options: ConversationOptions = {}): LineFormat {
  return {
    name: 'trl',
    toLine: (trace, context) => {
      const conversation = toConversation(trace, context, options);
      if (conversation === undefined) return undefined;
      if (hasImages(conversation)) {
        context.losses.add('trace', 'a line for TRL is text alone, and the conversation has images');
        return undefined;
      }
      noteTrainingLosses(trace, context.losses);
      const messages = conversation.messages.map((message) => toTrlMessage(message, context.losses));
      return jsonOf({ messages, ...(conversation.tools.length > 0 ? { tools: conversation.tools } : {}) });
    },
  };
}

function toTrlMessage({ weight, refusal, tool_calls: calls, ...message }: LineMessage, losses: Losses): object {
  if (weight === 0) losses.add('steps[].message', 'there is no weight of a message: it is learned like the others');
  return {
    ...message,
    // Templates put texts together, and a null is none.
    content: textOf(message) || (refusal ?? ''),
    ...(calls === undefined ? {} : { tool_calls: calls.map(withParsedArguments) }),
  };
}
