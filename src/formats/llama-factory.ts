import {
  type Conversation,
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
 * A line for LLaMA-Factory with `formatting: openai`: `messages`, and `tools` as a text. It skips an example with no more
 * than a warning unless user or tool results and assistant take turns, so that texts of one side are put together, and
 * what cannot be brought into that order has no line. Arguments of calls are objects: it would write a text as a text.
 */
export function llamaFactoryFormat(options: ConversationOptions = {}): LineFormat {
  return {
    name: 'llama-factory',
    toLine: (trace, context) => {
      const { losses } = context;
      const conversation = toConversation(trace, context, options);
      if (conversation === undefined) return undefined;
      const problem = problemOf(conversation);
      if (problem !== undefined) {
        losses.add('trace', problem);
        return undefined;
      }
      noteTrainingLosses(trace, losses);
      const { messages, tools } = conversation;
      const merged = mergeTexts(messages).map((message) => toLlamaFactoryMessage(message, losses));
      return jsonOf({ messages: merged, ...(tools.length > 0 ? { tools: JSON.stringify(tools) } : {}) });
    },
  };
}

/** Why its roles cannot take turns; undefined where they do, once texts of one side are put together. */
function problemOf(conversation: Conversation): string | undefined {
  if (hasImages(conversation)) return 'a line for LLaMA-Factory is text alone, and the conversation has images';
  const sides = conversation.messages
    .filter(({ role }) => role !== 'system' && role !== 'developer')
    .map(({ role }) => role)
    .filter((role, at, roles) => role === 'assistant' || role !== roles[at - 1]);
  const isInTurns = sides.every((role, at) => (role === 'assistant') === (at % 2 === 1));
  if (isInTurns && sides.length % 2 === 0) return undefined;
  return 'user or tool results and assistant do not take turns, so that LLaMA-Factory would skip it';
}

/** One system text, and one message where a user said several. */
function mergeTexts(messages: readonly LineMessage[]): readonly LineMessage[] {
  const isSystem = ({ role }: LineMessage) => role === 'system' || role === 'developer';
  const system = messages.filter(isSystem).map(textOf).join('\n\n');
  const merged: LineMessage[] = system === '' ? [] : [{ role: 'system', content: system }];
  for (const message of messages.filter((each) => !isSystem(each))) {
    const before = merged.at(-1);
    if (message.role === 'user' && before?.role === 'user') {
      merged[merged.length - 1] = { role: 'user', content: `${textOf(before)}\n\n${textOf(message)}` };
    } else {
      merged.push(message);
    }
  }
  return merged;
}

function toLlamaFactoryMessage(message: LineMessage, losses: Losses): object {
  const { weight, refusal, reasoning, reasoning_content: thought, tool_calls: calls, ...kept } = message;
  if (weight === 0) losses.add('steps[].message', 'there is no weight of a message: it is learned like the others');
  if ((reasoning ?? thought) !== undefined) losses.add('steps[].message.reasoning', 'there is no field for it');
  const content = textOf(message) || (refusal ?? '');
  if (calls !== undefined && content !== '') losses.add('steps[].message.content', 'a message with calls has no text');
  return { ...kept, content, ...(calls === undefined ? {} : { tool_calls: calls.map(withParsedArguments) }) };
}
