import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import type { ContentBlock } from '../../contract/chat.ts';
import { isJsonObject } from '../../contract/json.ts';
import { toolHintsSchema } from '../../contract/service/run.ts';
import type { AgentToolEntry, ToolResult } from './environment-client.ts';

/**
 * Converts a result to Proctor's form. A list in the structured content becomes `{ result: [...] }` on every revision,
 * because before 2026-07-28 structured content has to be an object.
 */
export function toToolResult({ content, structuredContent, isError }: CallToolResult): ToolResult {
  const structured: unknown = Array.isArray(structuredContent) ? { result: structuredContent } : structuredContent;
  return {
    content: content as readonly ContentBlock[],
    structured_content: isJsonObject(structured) ? structured : null,
    is_error: isError === true,
  };
}

export function toErrorResult(text: string): ToolResult {
  return { content: [{ type: 'text', text }], structured_content: null, is_error: true };
}

export function toAgentTool({
  name,
  title,
  description,
  inputSchema,
  outputSchema,
  annotations,
}: Tool): AgentToolEntry {
  return {
    name,
    title: title ?? annotations?.title ?? null,
    description: description ?? title ?? '',
    input_schema: inputSchema,
    output_schema: outputSchema ?? null,
    annotations: toolHintsSchema.catch({}).parse(annotations ?? {}),
  };
}
