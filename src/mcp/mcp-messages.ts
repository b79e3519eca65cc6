import type { ContentPart, PromptMessage } from '../contract/scenario.ts';

interface McpMessage {
  role: 'user' | 'assistant';
  content: ContentPart;
}

/**
 * A prompt as MCP spells it: one content block for each message, and no role `system`, whose text a client is given as
 * the user's.
 */
export function toMcpMessages(prompt: string | readonly PromptMessage[]): McpMessage[] {
  if (typeof prompt === 'string') return [{ role: 'user', content: { type: 'text', text: prompt } }];
  return prompt.flatMap(({ role, content }) => {
    const parts: readonly ContentPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    return parts.map((part) => ({ role: role === 'assistant' ? role : 'user', content: { ...part } }));
  });
}
