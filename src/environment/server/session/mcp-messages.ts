import { isSpecType, type ContentBlock as McpContentBlock } from '@modelcontextprotocol/server';
import { isJsonObject } from '../../../contract/json.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import type { PromptBlock, RichPromptMessage } from '../../authoring/definition.ts';
import { isWritable } from '../../authoring/presentation.ts';

interface McpMessage {
  role: 'user' | 'assistant';
  content: McpContentBlock;
}

/**
 * Converts a prompt to MCP: one content block for each message. MCP has no role `system`, so such messages become the
 * user's.
 */
export function toMcpMessages(prompt: string | readonly RichPromptMessage[]): McpMessage[] {
  if (typeof prompt === 'string') return [{ role: 'user', content: { type: 'text', text: prompt } }];
  return prompt.flatMap(({ role, content }) =>
    toBlocks(content).map((part) => ({
      role: role === 'assistant' ? role : 'user',
      // The cast is not checked here: the code that sends the message checks the block.
      content: { ...part } as unknown as McpContentBlock,
    })),
  );
}

/** Converts and checks what an author's prompt returned. @throws TypeError for content that clients would refuse. */
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

/**
 * True for a block that clients accept. `_meta` is checked too, because a value that JSON cannot hold would leave the
 * client without an answer.
 */
export function isSendable(block: unknown): boolean {
  if (!isSpecType.ContentBlock(block)) return false;
  return isWritable([block._meta, block.type === 'resource' ? block.resource._meta : undefined]);
}

function toBlocks(content: RichPromptMessage['content']): readonly PromptBlock[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return isList(content) ? content : [content];
}

/** `Array.isArray` does not narrow read-only arrays. */
function isList(content: PromptBlock | readonly PromptBlock[]): content is readonly PromptBlock[] {
  return Array.isArray(content);
}
