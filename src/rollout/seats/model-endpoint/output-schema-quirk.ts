import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import type { ToolResult } from '../../../environment/client/environment-client.ts';

/** Clients that fail on a result without `structuredContent` if its text is JSON but no object. */
const NEEDS_STRUCTURE = /^gemini-cli\b/i;

/**
 * Makes the `structuredContent` of a result for one client. Without it, Gemini CLI parses the first text as JSON and
 * reports an error to its model if that is a number, a boolean or a list.
 *
 * @param client name that the client gave.
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
    return JSON.parse(first.text) as Json; // JSON.parse returns only JSON values.
  } catch {
    return undefined;
  }
}
