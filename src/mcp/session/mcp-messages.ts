import { isSpecType, type ContentBlock as McpContentBlock } from '@modelcontextprotocol/server';
import { isJsonObject } from '../../contract/json.ts';
import type { PromptBlock, RichPromptMessage } from '../../environment/definition.ts';
import { isWritable } from '../../environment/presentation.ts';
import { preview } from '../../schema/json-schema.ts';

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

/** The same, of what an author's prompt gave, whatever that is. @throws TypeError for what no client takes. */
export function toCheckedMessages(prompt: unknown): McpMessage[] {
  const isPrompt = typeof prompt === 'string' || (Array.isArray(prompt) && prompt.every(isJsonObject));
  if (!isPrompt) {
    throw new TypeError(`The prompt has to be text or a list of {role, content} messages, got ${preview(prompt)}`);
  }
  const messages = toMcpMessages(prompt as string | readonly RichPromptMessage[]);
  const wrong = messages.find(({ content }) => !isSendable(content));
  if (wrong === undefined) return messages;
  throw new TypeError(`The prompt has a content block that MCP refuses: ${preview(wrong.content)}`);
}

/** True for a block that clients take. Its `_meta` may be anything: what JSON cannot hold would leave them unanswered. */
export function isSendable(block: unknown): boolean {
  if (!isSpecType.ContentBlock(block)) return false;
  return isWritable([block._meta, block.type === 'resource' ? block.resource._meta : undefined]);
}

function toBlocks(content: RichPromptMessage['content']): readonly PromptBlock[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return isList(content) ? content : [content];
}

/** `Array.isArray` knows no read-only arrays. */
function isList(content: PromptBlock | readonly PromptBlock[]): content is readonly PromptBlock[] {
  return Array.isArray(content);
}
