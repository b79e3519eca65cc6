import { type CallToolResult, ProtocolError, ProtocolErrorCode, type Tool } from '@modelcontextprotocol/client';
import type { ContentBlock } from '../../contract/chat.ts';
import { BoundaryError } from '../../contract/errors.ts';
import { isJsonObject } from '../../contract/json.ts';
import { toolHintsSchema } from '../../contract/service/run.ts';
import type { AgentToolEntry, ConnectOptions, ToolResult } from './environment-client.ts';

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

/** The short name of a scenario, which is its function name in hubs. */
export function toShortName(scenario: string): string {
  return scenario.slice(scenario.indexOf(':') + 1);
}

/** The number of sessions, or 1 if the value is invalid: a foreign server may send any value. */
export function toCount(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? value : 1;
}

/** The result that tells an agent about the error of its call. Undefined if the run cannot go on. */
export function toAgentError(name: string, error: unknown, onLog: ConnectOptions['onLog']): ToolResult | undefined {
  const cause = error instanceof BoundaryError ? error.cause : error;
  if (!(cause instanceof ProtocolError)) return undefined;
  // Wrong parameters, such as an unknown tool name, are the model's mistake, so it gets the server's message.
  if (cause.code === ProtocolErrorCode.InvalidParams) return toErrorResult(cause.message);
  if (cause.code !== ProtocolErrorCode.InternalError) return undefined;
  const message = `The tool "${name}" failed: ${cause.message}`;
  onLog?.({ level: 'error', logger: 'environment', message });
  return toErrorResult(`The tool "${name}" failed`);
}
