import type { ContentBlock as McpContentBlock } from '@modelcontextprotocol/server';
import type { PromptBlock, RichPromptMessage } from '../../environment/definition.ts';

interface McpMessage {
  role: 'user' | 'assistant';
  content: McpContentBlock;
}

/**
 * A prompt as MCP spells it: one content block for each message, and no role `system`, whose text a client is given as
 * the user's.
 */
export function toMcpMessages(prompt: string | readonly RichPromptMessage[]): McpMessage[] {
  if (typeof prompt === 'string') return [{ role: 'user', content: { type: 'text', text: prompt } }];
  return prompt.flatMap(({ role, content }) =>
    toBlocks(content).map((part) => ({
      role: role === 'assistant' ? role : 'user',
      // Whether it is a block that MCP knows is checked where the message is sent.
      content: { ...part } as unknown as McpContentBlock,
    })),
  );
}

function toBlocks(content: RichPromptMessage['content']): readonly PromptBlock[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return isList(content) ? content : [content];
}

/** `Array.isArray` knows no read-only arrays. */
function isList(content: PromptBlock | readonly PromptBlock[]): content is readonly PromptBlock[] {
  return Array.isArray(content);
}
