import { createHash } from 'node:crypto';
import type { AssistantMessage, TranscriptMessage } from '../../contract/chat.ts';
import { conversationKeys } from './conversation.ts';

/** Makes a signature in place of the provider's. Agents send it back with the reasoning. */
export function signReasoning(reasoning: string): string {
  return `proctor:${createHash('sha256').update(reasoning).digest('hex').slice(0, 32)}`;
}

/** Identifies a model message, even if an agent has changed its reasoning and ids. */
export function saidKey(message: AssistantMessage): string {
  return conversationKeys([message]).join();
}

/**
 * Restores messages to the form in which the gateway wrote them. Some dialects have no place for provider fields and
 * call ids, so agents cannot send those back.
 *
 * @param find finds a recorded message by its `saidKey`.
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
    // The agent has removed the reasoning, so it stays out.
    const { reasoning_field: _field, ...extra } = recorded.extra ?? {};
    return { ...recorded, reasoning: null, extra };
  });
}
