import {
  type Conversation,
  type ConversationOptions,
  type LineMessage,
  textOf,
  withParsedArguments,
} from '../conversation.ts';
import type { LineFormat } from '../format.ts';
import type { Losses } from '../losses.ts';
import { textLineFormat } from './text-line.ts';

/**
 * A line for LLaMA-Factory with `formatting: openai`: `messages`, and `tools` as a text. LLaMA-Factory skips an
 * example, with only a warning, unless the user or tool side and the assistant take turns. So adjacent texts of one
 * side are merged, and a conversation that still does not alternate has no line. Arguments of calls are objects,
 * because a text would be quoted again.
 */
export function llamaFactoryFormat(options: ConversationOptions = {}): LineFormat {
  const toMessages = (messages: readonly LineMessage[], losses: Losses) =>
    mergeTexts(messages).map((message) => toLlamaFactoryMessage(message, losses));
  const toTools = (tools: Conversation['tools']) => JSON.stringify(tools);
  return textLineFormat({ name: 'llama-factory', title: 'LLaMA-Factory', problemOf, toMessages, toTools }, options);
}

/** The reason why the roles do not alternate; undefined when they do after adjacent texts are merged. */
function problemOf(conversation: Conversation): string | undefined {
  const sides = conversation.messages
    .filter(({ role }) => role !== 'system' && role !== 'developer')
    .map(({ role }) => role)
    .filter((role, at, roles) => role === 'assistant' || role !== roles[at - 1]);
  const isInTurns = sides.every((role, at) => (role === 'assistant') === (at % 2 === 1));
  if (isInTurns && sides.length % 2 === 0) return undefined;
  return 'user or tool results and assistant do not take turns, so that LLaMA-Factory would skip it';
}

/** Merges all system texts into one, and adjacent user messages into one. */
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
