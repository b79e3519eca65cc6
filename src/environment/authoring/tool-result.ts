import type { ContentBlock } from '../../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts';
import { asFields } from '../../support/schema/json-schema.ts';
import { isMarkedContent } from './content.ts';
import type { Awaitable, CompiledSchema } from './definition.ts';
import { describeIssues } from './schema/schema.ts';

/** The result of a tool call as MCP defines it. */
export interface ToolResult {
  readonly content: readonly ContentBlock[];
  /** An object or a list. Before MCP 2026-07-28 a list is sent as `{ result: [...] }`. */
  readonly structuredContent?: JsonObject | Json[];
  readonly isError?: boolean;
}

const TOOL_ERROR = Symbol.for('proctor.tool-error');

/**
 * A failure whose message the agent sees. For every other error the agent sees only that the tool failed.
 *
 * @example
 * ```ts
 * if (balanceOf(from) < amount) throw new ToolError(`${from} holds only ${balanceOf(from)}.`);
 * ```
 */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly [TOOL_ERROR] = true;
  /** Machine-readable details beside the message, sent as `structuredContent`. A JSON object. */
  readonly structuredContent: JsonObject | undefined;

  constructor(message?: string, options: { readonly structuredContent?: JsonObject; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.structuredContent = options.structuredContent;
  }
}

/** True for a `ToolError`, also one from another copy of this package that the environment loaded. */
export function isToolError(thrown: unknown): thrown is ToolError {
  return thrown instanceof Error && TOOL_ERROR in thrown;
}

/** A mark that JSON cannot hold. Its name is shared, because an environment may have its own copy of this package. */
const FINISHED = Symbol.for('proctor.finished-result');

/** Marks a handler's result to be sent unchanged, without checks, such as the result of another server. */
export function asFinished(result: ToolResult): ToolResult {
  return Object.defineProperty({ ...result }, FINISHED, { value: true });
}

/**
 * Converts a handler's return value into a tool result. Strings, numbers and booleans become text. Plain objects and
 * arrays become `structuredContent` and its JSON text. An array of content blocks, or `image()` and similar, become
 * content blocks. No value becomes no content. With `output`, the schema first checks and reads the value, and the
 * result always has `structuredContent`.
 *
 * @throws Error if JSON cannot hold the value or it does not fit `output`. This is the author's fault, so log it and do
 *   not show it to the agent.
 */
export function toToolResult(returned: unknown, output?: CompiledSchema): Awaitable<ToolResult> {
  // `asFinished` marked this result.
  if (typeof returned === 'object' && returned !== null && FINISHED in returned)
    return returned as unknown as ToolResult;
  return output === undefined ? toResult(returned) : toCheckedResult(returned, output);
}

async function toCheckedResult(returned: unknown, output: CompiledSchema): Promise<ToolResult> {
  const parsed = await output.parse(returned);
  if (!parsed.ok)
    throw new Error(
      `The tool returned what its \`returns\` does not allow: ${describeIssues(asFields(parsed.issues))}`,
    );
  const result = toResult(parsed.value);
  // With an output schema, clients expect structured content even beside content blocks.
  return result.structuredContent === undefined && Array.isArray(parsed.value)
    ? { ...result, structuredContent: JSON.parse(JSON.stringify(parsed.value)) }
    : result;
}

function toResult(value: unknown): ToolResult {
  if (value === undefined || value === null) return { content: [] };
  if (typeof value === 'string') return text(value);
  if (typeof value === 'number' || typeof value === 'boolean') return text(String(value));
  if (isMarkedContent(value)) return { content: [value] };
  // An empty array is sent as an empty list rather than as no content, so that the agent sees it.
  if (Array.isArray(value) && value.length > 0 && value.every(isContentBlock)) return { content: value };
  const json = toJson(value);
  const parsed: unknown = JSON.parse(json);
  return isStructured(parsed) ? { ...text(json), structuredContent: parsed } : text(json);
}

function isStructured(value: unknown): value is JsonObject | Json[] {
  return isJsonObject(value) || Array.isArray(value);
}

function text(value: string): ToolResult {
  return { content: [{ type: 'text', text: value }] };
}

function toJson(value: unknown): string {
  // JSON.stringify turns these into `{}`, and the agent would believe that the result is empty or a success.
  const isEmptied = value instanceof Map || value instanceof Set || value instanceof Error;
  const kind = isEmptied ? value.constructor.name : typeof value;
  if (kind !== 'object') {
    const cause = value instanceof Error ? { cause: value } : {};
    throw new TypeError(`A tool cannot return a ${kind}: return text, or what JSON can hold`, cause);
  }
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new TypeError('The tool returned a value that JSON cannot hold', { cause });
  }
}

/** MCP's content blocks: text, image, audio, resource and resource_link. */
function isContentBlock(value: unknown): value is ContentBlock {
  if (!isJsonObject(value)) return false;
  switch (value.type) {
    case 'text':
      return typeof value.text === 'string';
    case 'image':
    case 'audio':
      return typeof value.data === 'string' && typeof value.mimeType === 'string';
    case 'resource':
      return isJsonObject(value.resource) && typeof value.resource.uri === 'string';
    case 'resource_link':
      return typeof value.uri === 'string' && typeof value.name === 'string';
    default:
      return false;
  }
}

/** The harness has no model for judges. */
export class NoJudgeError extends Error {
  override readonly name = 'NoJudgeError';
}
