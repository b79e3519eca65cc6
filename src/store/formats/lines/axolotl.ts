import { type ConversationOptions, type LineMessage, textOf } from '../conversation.ts';
import type { LineFormat } from '../format.ts';
import { textLineFormat } from './text-line.ts';

/**
 * A line for Axolotl's `type: chat_template`: `messages`, and `tools` when there are any. Arguments stay JSON texts: as
 * objects in one table, calls of different tools would get each other's fields. Turns not to learn have `train: false`,
 * for `message_field_training: train`.
 */
export function axolotlFormat(options: ConversationOptions = {}): LineFormat {
  const toMessages = (messages: readonly LineMessage[]) => messages.map(toAxolotlMessage);
  return textLineFormat({ name: 'axolotl', title: 'Axolotl', toMessages }, options);
}

function toAxolotlMessage({ weight, refusal, reasoning, reasoning_content: thought, ...message }: LineMessage): object {
  const kept = thought ?? reasoning;
  return {
    ...message,
    content: textOf(message) || (refusal ?? ''),
    // Axolotl's templates know this field name only.
    ...(kept === undefined ? {} : { reasoning_content: kept }),
    ...(weight === 0 ? { train: false } : {}),
  };
}
