import { createHash } from 'node:crypto';
import type { AssistantMessage, ContentBlock, TranscriptMessage } from '../../contract/chat.ts';
import { isJsonObject, type Json } from '../../contract/json.ts';
import type { ContentPart } from '../../contract/scenario.ts';
import type { DialectRequest } from './dialect.ts';

/**
 * A key for each text, image, call and result of a conversation, in order. Two requests of one conversation begin with
 * the same keys, even if the agent has changed system texts, reasoning, ids, surrounding blanks, or where messages are
 * split.
 */
export function conversationKeys(messages: readonly TranscriptMessage[]): string[] {
  return messages.flatMap((message) => {
    switch (message.role) {
      case 'user':
        return keysOfContent('user', message.content);
      case 'tool':
        return [keyOf('tool', resultKey(message.content))];
      case 'assistant':
        return keysOfSaid(message);
      default:
        return [];
    }
  });
}

/** True if a conversation continues another one or equals it. */
export function continues(keys: readonly string[], before: readonly string[]): boolean {
  return keys.length >= before.length && before.every((key, index) => key === keys[index]);
}

/** A tool result in a request to the model. */
export interface ReportedToolResult {
  readonly tool_call_id: string;
  /** Name of the tool, internally (`name`) and in the agent's request (`own_name`). */
  readonly name: string;
  readonly own_name: string;
  readonly namespace: string | null;
  /** Text blocks, one per line, without surrounding blanks. */
  readonly text: string;
  /** SHA-256 of each image's base64 text, in hex. */
  readonly imageHashes: readonly string[];
  readonly is_error: boolean;
}

/** The results of all calls in a request, oldest first, including earlier ones. */
export function readResults({ messages, names }: DialectRequest): ReportedToolResult[] {
  return messages.flatMap((message) => {
    if (message.role !== 'tool') return [];
    const { own_name, namespace } = names.toOwn(message.name);
    const { tool_call_id, name, content, is_error } = message;
    return [{ tool_call_id, name, own_name, namespace, is_error, ...resultKey(content) }];
  });
}

function keysOfSaid({ content, refusal, tool_calls: calls }: AssistantMessage): string[] {
  const texts = [content, refusal].flatMap((text) => keysOfContent('said', text ?? ''));
  return [
    ...texts,
    ...calls.map(({ name, ...call }) => keyOf('call', [name, call.raw_arguments ?? sorted(call.arguments)])),
  ];
}

function resultKey(content: readonly ContentBlock[]): Pick<ReportedToolResult, 'text' | 'imageHashes'> {
  const texts = content.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : []));
  const images = content.flatMap(({ type, data }) => (type === 'image' && typeof data === 'string' ? [data] : []));
  return { text: texts.join('\n').trim(), imageHashes: images.map(hashOf) };
}

function keysOfContent(role: string, content: string | readonly ContentPart[]): string[] {
  const parts: readonly ContentPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  return parts.flatMap((part) => {
    if (part.type === 'image') return [keyOf(role, { image: hashOf(part.data) })];
    const text = part.text.trim();
    return text === '' ? [] : [keyOf(role, text)];
  });
}

function keyOf(kind: string, value: unknown): string {
  return hashOf(`${kind}\0${JSON.stringify(value)}`);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Sorts the members of objects, so that their order does not matter. */
function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, sorted(member)]),
  );
}
