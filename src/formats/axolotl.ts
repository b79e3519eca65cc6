import { type ConversationOptions, hasImages, type LineMessage, textOf, toConversation } from './conversation.ts';
import type { LineFormat } from './format.ts';
import { jsonOf } from './json-of.ts';
import { noteTrainingLosses } from './training-losses.ts';

/**
 * A line for Axolotl's `type: chat_template`: `messages`, and `tools` where there are any. Arguments stay texts of JSON,
 * since objects of different tools would get each other's fields in one table. Turns that are not to be learned have
 * `train: false`, for `message_field_training: train`.
 */
export function axolotlFormat(options: ConversationOptions = {}): LineFormat {
  return {
    name: 'axolotl',
    toLine: (trace, context) => {
      const conversation = toConversation(trace, context, options);
      if (conversation === undefined) return undefined;
      if (hasImages(conversation)) {
        context.losses.add('trace', 'a line of a chat template is text alone, and the conversation has images');
        return undefined;
      }
      noteTrainingLosses(trace, context.losses);
      const messages = conversation.messages.map(toAxolotlMessage);
      return jsonOf({ messages, ...(conversation.tools.length > 0 ? { tools: conversation.tools } : {}) });
    },
  };
}

function toAxolotlMessage({ weight, refusal, reasoning, reasoning_content: thought, ...message }: LineMessage): object {
  const kept = thought ?? reasoning;
  return {
    ...message,
    content: textOf(message) || (refusal ?? ''),
    // The one name that its templates know.
    ...(kept === undefined ? {} : { reasoning_content: kept }),
    ...(weight === 0 ? { train: false } : {}),
  };
}
