import type { ContentBlock } from '../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts';
import { asFields } from '../schema/json-schema.ts';
import { isMarkedContent } from './content.ts';
import type { Awaitable, CompiledSchema } from './definition.ts';
import { describeIssues } from './schema.ts';

/** The result of a tool call as MCP spells it. */
export interface ToolResult {
  readonly content: readonly ContentBlock[];
  /** An object or a list; before 2026-07-28 a list goes over the wire as `{ result: [...] }`. */
  readonly structuredContent?: JsonObject | Json[];
  readonly isError?: boolean;
}

const TOOL_ERROR = Symbol.for('proctor.tool-error');

/**
 * A failure that the agent is shown as it is. Every other error is "the tool failed" to the agent.
 *
 * @example
 * ```ts
 * if (balanceOf(from) < amount) throw new ToolError(`${from} holds only ${balanceOf(from)}.`);
 * ```
 */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly [TOOL_ERROR] = true;
  /** For programs, beside the message: `structuredContent` of the result. A JSON object. */
  readonly structuredContent: JsonObject | undefined;

  constructor(message?: string, options: { readonly structuredContent?: JsonObject; readonly cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.structuredContent = options.structuredContent;
  }
}

/** True for a `ToolError` of any copy of this package: an environment may have loaded its own. */
export function isToolError(thrown: unknown): thrown is ToolError {
  return thrown instanceof Error && TOOL_ERROR in thrown;
}

/** Results that are sent as they are, such as those of another server. */
const FINISHED = new WeakSet<object>();

/** Has a handler's result sent as it is, by this copy of the package: nothing of it is checked or read again. */
export function asFinished(result: ToolResult): ToolResult {
  FINISHED.add(result);
  return result;
}

/**
 * Turns what a handler returned into a tool result: text for strings, numbers and booleans; `structuredContent` and its
 * JSON text for plain objects and arrays; content blocks for an array of them and for `image()` and its like; no content
 * for nothing. With `output`, the value is checked and read by it first, and always has `structuredContent`.
 *
 * @throws Error for what JSON cannot hold, and for a value that does not fit `output`. It is the author's fault, so it
 *   belongs into the log, not before the agent.
 */
export function toToolResult(returned: unknown, output?: CompiledSchema): Awaitable<ToolResult> {
  if (typeof returned === 'object' && returned !== null && FINISHED.has(returned)) return returned as ToolResult; // By `asFinished`.
  return output === undefined ? toResult(returned) : toCheckedResult(returned, output);
}

async function toCheckedResult(returned: unknown, output: CompiledSchema): Promise<ToolResult> {
  const parsed = await output.parse(returned);
  if (!parsed.ok)
    throw new Error(
      `The tool returned what its \`returns\` does not allow: ${describeIssues(asFields(parsed.issues))}`,
    );
  const result = toResult(parsed.value);
  // With an output schema clients expect it, also beside content blocks.
  return result.structuredContent === undefined && Array.isArray(parsed.value)
    ? { ...result, structuredContent: JSON.parse(JSON.stringify(parsed.value)) }
    : result;
}

function toResult(value: unknown): ToolResult {
  if (value === undefined || value === null) return { content: [] };
  if (typeof value === 'string') return text(value);
  if (typeof value === 'number' || typeof value === 'boolean') return text(String(value));
  if (isMarkedContent(value)) return { content: [value] };
  // An empty array is an empty list, which the agent should see, rather than no content.
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
  // JSON.stringify makes `{}` of these: the agent would be told that there is nothing, or that all went well.
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
