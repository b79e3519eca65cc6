import type { AssistantMessage } from '../contract/chat.ts';
import { isJsonObject, type JsonObject } from '../contract/json.ts';

/**
 * `extra` of an assistant message: fields of the provider that have no place in the contract, and that the provider
 * wants back (Gemini's thought signatures, OpenRouter's `reasoning_details`).
 */
export interface AssistantExtra {
  /** Fields of the message, as they came. */
  readonly message: JsonObject;
  /** Fields of each tool call, as they came, by the call's id. */
  readonly toolCalls: Readonly<Record<string, JsonObject>>;
  /** The field in which `reasoning` came: `reasoning_content` (DeepSeek, vLLM) or `reasoning` (Ollama, OpenRouter). */
  readonly reasoningField: string | undefined;
}

/** As `extra` of the contract: `{message?, tool_calls?, reasoning_field?}`; undefined when there is nothing to keep. */
export function toExtra(extra: AssistantExtra): JsonObject | undefined {
  const wire: JsonObject = {};
  if (Object.keys(extra.message).length > 0) wire.message = extra.message;
  if (Object.keys(extra.toolCalls).length > 0) wire.tool_calls = { ...extra.toolCalls };
  if (extra.reasoningField !== undefined) wire.reasoning_field = extra.reasoningField;
  return Object.keys(wire).length > 0 ? wire : undefined;
}

/** Reads `extra` back; what is missing or not of our making is left out. */
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
