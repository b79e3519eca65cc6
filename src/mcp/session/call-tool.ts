import type { CallToolResult } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import { isTooDeep, MAX_JSON_DEPTH } from '../../contract/json-depth.ts';
import type { ToolDefinition } from '../../environment/definition.ts';
import { describeIssues } from '../../environment/schema.ts';
import { isToolError, toToolResult } from '../../environment/tool-result.ts';
import { preview } from '../../schema/json-schema.ts';
import { isMissingCapability } from './client-requests.ts';
import { isSendable } from './mcp-messages.ts';
import type { EnvironmentRequest } from './request.ts';

/** A tool or a function of a hub, ready to be called. */
export interface CallableTool extends ToolDefinition {
  /** Subject of the sentence about a failure. Default: `The tool <name>`. */
  readonly subject?: string;
  /** Message for the caller about an error that is no `ToolError`. Default: that the tool failed, and nothing else. */
  readonly describeFailure?: (error: unknown) => string;
}

/** Calls this tool, as `callTool` does. */
export function callerOf(tool: CallableTool): (args: unknown, request: EnvironmentRequest) => Promise<CallToolResult> {
  return (args, request) => callTool(tool, args, request);
}

/**
 * Calls a tool. Whatever goes wrong on the way is a result that says so, not a protocol error, so that an agent can
 * correct itself: bad arguments by name, a `ToolError` as it is, anything else as "failed" with the cause in the log.
 *
 * @throws ProtocolError on 2026-07-28, for what the client would have had to offer.
 */
export async function callTool(
  tool: CallableTool,
  args: unknown,
  request: EnvironmentRequest,
): Promise<CallToolResult> {
  try {
    const parsing = tool.input.parse(args);
    // Any thenable: a schema library may bring a promise of its own.
    const parsed = 'then' in parsing ? await parsing : parsing;
    if (!parsed.ok)
      return toFailedCall(
        `Invalid arguments of ${tool.name}: ${describeIssues(parsed.issues)}. ${describeArguments(tool)}`,
      );
    const { handler } = tool;
    const returned = await handler(parsed.value, request.context);
    const result = (await toToolResult(returned, tool.output)) as CallToolResult;
    assertSendable(result);
    return result;
  } catch (error) {
    // The protocol has an answer of its own to this.
    if (isMissingCapability(error)) throw error;
    if (isToolError(error)) return toFailedCall(error.message, error.structuredContent);
    const subject = tool.subject ?? `The tool ${tool.name}`;
    request.reportFailure(subject, error);
    return toFailedCall(tool.describeFailure?.(error) ?? `${subject} failed`);
  }
}

export function toFailedCall(message: string, structuredContent?: JsonObject): CallToolResult {
  const result = { content: [{ type: 'text' as const, text: message }], isError: true };
  return structuredContent === undefined ? result : { ...result, structuredContent };
}

/** Refuses a result that no client accepts as the author's fault. The SDK would report it as the caller's, at great length. */
function assertSendable(result: CallToolResult): void {
  if (result.structuredContent === undefined && result.content.every(isPlainText)) return;
  const wrong = result.content.find((block) => !isPlainText(block) && !isSendable(block));
  if (wrong !== undefined) throw new TypeError(`The tool returned a content block that MCP refuses: ${preview(wrong)}`);
  if (isTooDeep(result)) throw new TypeError(`The tool returned JSON nested more than ${MAX_JSON_DEPTH} deep`);
}

/** The block of most results, known without its whole schema. */
function isPlainText(block: CallToolResult['content'][number]): boolean {
  return block.type === 'text' && typeof block.text === 'string' && Object.keys(block).length === 2;
}

function describeArguments(tool: ToolDefinition): string {
  const { properties } = tool.input.jsonSchema;
  return `It takes: ${isJsonObject(properties) ? Object.keys(properties).join(', ') || 'nothing' : 'any object'}.`;
}
