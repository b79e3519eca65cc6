import type { AssistantMessage } from '../../../contract/chat.ts';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';

/**
 * `extra` of an assistant message: provider fields that the contract does not have and that the provider expects back
 * (Gemini's thought signatures, OpenRouter's `reasoning_details`).
 */
export interface AssistantExtra {
  /** Extra fields of the message, unchanged. */
  readonly message: JsonObject;
  /** Extra fields of each tool call, unchanged, by the call's id. */
  readonly toolCalls: Readonly<Record<string, JsonObject>>;
  /** Name of the field with the reasoning: `reasoning_content` (DeepSeek, vLLM) or `reasoning` (Ollama, OpenRouter). */
  readonly reasoningField: string | undefined;
}

/** Writes `extra` of the contract: `{message?, tool_calls?, reasoning_field?}`; undefined if it would be empty. */
export function toExtra(extra: AssistantExtra): JsonObject | undefined {
  const wire: JsonObject = {};
  if (Object.keys(extra.message).length > 0) wire.message = extra.message;
  if (Object.keys(extra.toolCalls).length > 0) wire.tool_calls = { ...extra.toolCalls };
  if (extra.reasoningField !== undefined) wire.reasoning_field = extra.reasoningField;
  return Object.keys(wire).length > 0 ? wire : undefined;
}

/** Reads `extra` back. Missing and unknown parts are left out. */
export function parseExtra(message: AssistantMessage): AssistantExtra {
  const { message: fields, tool_calls: calls, reasoning_field: field } = message.extra ?? {};
  const toolCalls: Record<string, JsonObject> = {};
  for (const [id, value] of Object.entries(isJsonObject(calls) ? calls : {})) {
    if (isJsonObject(value)) toolCalls[id] = value;
  }
  return {
    message: isJsonObject(fields) ? fields : {},
    toolCalls,
    reasoningField: typeof field === 'string' ? field : undefined,
  };
}
