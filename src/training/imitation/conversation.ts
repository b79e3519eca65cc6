import { isJsonObject, type Json, type JsonObject, parseObject } from '../../contract/json.ts';
import { type Token, tokensOf } from './tokens.ts';

/** The parts of a message that are learned. */
export interface LearnedMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly text: string;
  readonly tokens: readonly Token[];
  /** Calls of an assistant message. */
  readonly calls: readonly { readonly name: string; readonly arguments: JsonObject }[];
  /** Name of the tool whose result the message is. */
  readonly tool: string | undefined;
  /** False when the message must not be imitated. */
  readonly isTrained: boolean;
}

/** @param messages in the form of OpenAI's chat completions, from a line of a dataset or from a request. */
export function toLearnedMessages(messages: readonly unknown[]): readonly LearnedMessage[] {
  const toolsById = new Map<string, string>();
  return messages.filter(isJsonObject).flatMap((message) => {
    const role = toRole(message.role);
    if (role === undefined) return [];
    const calls = role === 'assistant' ? callsOf(message, toolsById) : [];
    const tool = role === 'tool' ? toolsById.get(String(message.tool_call_id)) : undefined;
    const text = textOf(message.content);
    return [{ role, text, tokens: tokensOf(text), calls, tool, isTrained: message.weight !== 0 }];
  });
}

function toRole(role: Json | undefined): LearnedMessage['role'] | undefined {
  if (role === 'developer') return 'system';
  return role === 'system' || role === 'user' || role === 'assistant' || role === 'tool' ? role : undefined;
}

function callsOf(message: JsonObject, toolsById: Map<string, string>): LearnedMessage['calls'] {
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls.filter(isJsonObject) : [];
  return calls.flatMap((call) => {
    const called = isJsonObject(call.function) ? call.function : {};
    if (typeof called.name !== 'string') return [];
    toolsById.set(String(call.id), called.name);
    const { arguments: said } = called;
    const given = typeof said === 'string' ? parseObject(said) : isJsonObject(said) ? said : undefined;
    return given === undefined ? [] : [{ name: called.name, arguments: given }];
  });
}

function textOf(content: Json | undefined): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.flatMap((part) => (isJsonObject(part) && typeof part.text === 'string' ? [part.text] : [])).join('\n');
}
