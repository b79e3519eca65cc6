import { createHash } from 'node:crypto';
import type { AssistantMessage, TranscriptMessage } from '../contract/chat.ts';
import { conversationKeys } from './conversation.ts';

/** Stands where a provider would sign reasoning: agents send it back with the reasoning that it belongs to. */
export function signReasoning(reasoning: string): string {
  return `proctor:${createHash('sha256').update(reasoning).digest('hex').slice(0, 32)}`;
}

/** Identifies a message of the model, whatever an agent does to its reasoning and to ids. */
export function saidKey(message: AssistantMessage): string {
  return conversationKeys([message]).join();
}

/**
 * Messages as the gateway wrote them, where the agent sends them back in a dialect that has no place for all of it:
 * provider fields, and the ids of calls.
 *
 * @param find by `saidKey`.
 */
export function restoreSaid(
  messages: readonly TranscriptMessage[],
  find: (key: string) => AssistantMessage | undefined,
): TranscriptMessage[] {
  let ids = new Map<string, string>();
  return messages.map((message) => {
    if (message.role === 'tool')
      return { ...message, tool_call_id: ids.get(message.tool_call_id) ?? message.tool_call_id };
    if (message.role !== 'assistant') return message;
    const recorded = find(saidKey(message));
    if (recorded === undefined) {
      ids = new Map();
      return message;
    }
    ids = new Map(message.tool_calls.map((call, index) => [call.id, recorded.tool_calls[index]?.id ?? call.id]));
    if (message.reasoning !== null) return recorded;
    // The agent has left the reasoning out, and it stays so.
    const { reasoning_field: _field, ...extra } = recorded.extra ?? {};
    return { ...recorded, reasoning: null, extra };
  });
}
