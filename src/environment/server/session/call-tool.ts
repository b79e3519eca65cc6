import { type CallToolResult, ProtocolError } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import { isTooDeep, MAX_JSON_DEPTH } from '../../../contract/json-depth.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import type { ToolDefinition } from '../../authoring/definition.ts';
import { describeIssues } from '../../authoring/schema/schema.ts';
import { isToolError, toToolResult } from '../../authoring/tool-result.ts';
import { isMissingCapability } from './client-requests.ts';
import { isSendable } from './mcp-messages.ts';
import type { EnvironmentRequest } from './request.ts';

/** A tool or a function of a hub, ready to be called. */
export interface CallableTool extends ToolDefinition {
  /** Subject of the sentence about a failure. Default: `The tool <name>`. */
  readonly subject?: string;
  /** The caller's message about an error other than a `ToolError`. Default: only that the tool failed. */
  readonly describeFailure?: (error: unknown) => string;
}

/** Returns a function that calls this tool with `callTool`. */
export function callerOf(tool: CallableTool): (args: unknown, request: EnvironmentRequest) => Promise<CallToolResult> {
  return (args, request) => callTool(tool, args, request);
}

/**
 * Calls a tool. Failures are results rather than protocol errors, so that an agent can correct itself: bad arguments
 * with their names, the message of a `ToolError`, and "failed" for anything else, with the cause in the log.
 *
 * @throws ProtocolError on MCP 2026-07-28 if the client lacks a required capability.
 */
export async function callTool(
  tool: CallableTool,
  args: unknown,
  request: EnvironmentRequest,
): Promise<CallToolResult> {
  try {
    const parsing = tool.input.parse(args);
    // Tests for `then`, because a schema library may use its own promise class.
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
    // MCP has a special error for this.
    if (isMissingCapability(error)) throw error;
    if (isToolError(error)) return toFailedCall(error.message, error.structuredContent);
    const subject = tool.subject ?? `The tool ${tool.name}`;
    const told = tool.describeFailure?.(error);
    // The client answered a question with this error. The result contains it, so it is not reported again.
    if (told === undefined || !(error instanceof ProtocolError)) request.reportFailure(subject, error);
    return toFailedCall(told ?? `${subject} failed`);
  }
}

export function toFailedCall(message: string, structuredContent?: JsonObject): CallToolResult {
  const result = { content: [{ type: 'text' as const, text: message }], isError: true };
  return structuredContent === undefined ? result : { ...result, structuredContent };
}

/**
 * Rejects a result that clients would refuse, as the author's fault. The SDK would report it at length as the caller's
 * fault.
 */
function assertSendable(result: CallToolResult): void {
  if (result.structuredContent === undefined && result.content.every(isPlainText)) return;
  const wrong = result.content.find((block) => !isPlainText(block) && !isSendable(block));
  if (wrong !== undefined) throw new TypeError(`The tool returned a content block that MCP refuses: ${preview(wrong)}`);
  if (isTooDeep(result)) throw new TypeError(`The tool returned JSON nested more than ${MAX_JSON_DEPTH} deep`);
}

/** True for a plain text block, which most results have. This avoids the check with the whole schema. */
function isPlainText(block: CallToolResult['content'][number]): boolean {
  return block.type === 'text' && typeof block.text === 'string' && Object.keys(block).length === 2;
}

function describeArguments(tool: ToolDefinition): string {
  const { properties } = tool.input.jsonSchema;
  return `It takes: ${isJsonObject(properties) ? Object.keys(properties).join(', ') || 'nothing' : 'any object'}.`;
}
