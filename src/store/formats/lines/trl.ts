import { type ConversationOptions, type LineMessage, textOf, withParsedArguments } from '../conversation.ts';
import type { LineFormat } from '../format.ts';
import type { Losses } from '../losses.ts';
import { textLineFormat } from './text-line.ts';

/**
 * A line for TRL: `messages`, and `tools` when there are any. Arguments of calls are objects, which chat templates
 * serialize. TRL has no weights: it learns every assistant turn.
 */
export function trlFormat(options: ConversationOptions = {}): LineFormat {
  const toMessages = (messages: readonly LineMessage[], losses: Losses) =>
    messages.map((message) => toTrlMessage(message, losses));
  return textLineFormat({ name: 'trl', title: 'TRL', toMessages }, options);
}

function toTrlMessage({ weight, refusal, tool_calls: calls, ...message }: LineMessage, losses: Losses): object {
  if (weight === 0) losses.add('steps[].message', 'there is no weight of a message: it is learned like the others');
  return {
    ...message,
    // Templates concatenate texts, so null becomes "".
    content: textOf(message) || (refusal ?? ''),
    ...(calls === undefined ? {} : { tool_calls: calls.map(withParsedArguments) }),
  };
}
