import type { ToolResult } from '../client/environment-client.ts';
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts';

/** Clients that fail at a result whose text is JSON but no object, and whose `structuredContent` is missing. */
const NEEDS_STRUCTURE = /^gemini-cli\b/i;

/**
 * `structuredContent` of a result, for the client that is to get it. Gemini CLI reads the first text as JSON where there
 * is none, and tells its model of an error when that is a number, a truth value or a list.
 *
 * @param client its name, as it says itself.
 */
export function structureFor(client: string | undefined, result: ToolResult): JsonObject | undefined {
  if (result.structured_content !== null) return result.structured_content;
  if (result.is_error || client === undefined || !NEEDS_STRUCTURE.test(client)) return undefined;
  const value = firstJson(result);
  return value === undefined || isJsonObject(value) ? undefined : { result: value };
}

function firstJson({ content }: ToolResult): Json | undefined {
  const [first] = content;
  if (first?.type !== 'text' || typeof first.text !== 'string') return undefined;
  try {
    return JSON.parse(first.text) as Json; // JSON.parse gives nothing else.
  } catch {
    return undefined;
  }
}
