import { type ConversationOptions, toConversation } from '../conversation.ts';
import type { LineFormat } from '../format.ts';
import { jsonOf } from '../json-of.ts';
import { noteTrainingLosses } from './training-losses.ts';

/**
 * A line of OpenAI's chat fine-tuning, which many other trainers read too: `messages`, and `tools` when there are any.
 * Turns not to learn have `weight: 0`.
 */
export function openAiFormat(options: ConversationOptions = {}): LineFormat {
  return {
    name: 'openai',
    toLine: (trace, context) => {
      const conversation = toConversation(trace, context, options);
      if (conversation === undefined) return undefined;
      noteTrainingLosses(trace, context.losses);
      const { messages, tools } = conversation;
      return jsonOf({ messages, ...(tools.length > 0 ? { tools } : {}) });
    },
  };
}
