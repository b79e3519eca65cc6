import type { ToolCall } from '../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts';
import { isTooDeep, MAX_INPUT_DEPTH } from '../contract/json-depth.ts';

type Arguments = Pick<ToolCall, 'arguments' | 'raw_arguments'>;

/**
 * No arguments are `{}`; what is not a JSON object, or one that nobody could read, is kept as the text that came, so that
 * the model can be told.
 */
export function parseArguments(text: string): Arguments {
  if (text.trim() === '') return { arguments: {}, raw_arguments: null };
  try {
    return toArguments(JSON.parse(text) as Json, text); // JSON.parse gives nothing else.
  } catch {
    return { arguments: {}, raw_arguments: text };
  }
}

/** Arguments that came as JSON. @param text as they came, where they were text. */
export function toArguments(value: Json | undefined, text?: string): Arguments {
  if (value === undefined || value === null) return { arguments: {}, raw_arguments: text ?? null };
  if (isJsonObject(value) && !isTooDeep(value, MAX_INPUT_DEPTH)) return { arguments: value, raw_arguments: null };
  return { arguments: {}, raw_arguments: text ?? JSON.stringify(value) };
}

/** Arguments as a text of JSON, where a dialect has them so: the agent sees what the model wrote. */
export function argumentsText(call: ToolCall): string {
  return call.raw_arguments ?? JSON.stringify(call.arguments);
}

/** Name of the one argument of a tool whose input is a text. */
const INPUT = 'input';

/** Schema of a tool whose input is a text. @param format of the text, as the agent says it, for the description. */
export function customInputSchema(format: Json | undefined): JsonObject {
  const definition = isJsonObject(format) && typeof format.definition === 'string' ? format.definition : undefined;
  const syntax = isJsonObject(format) && typeof format.syntax === 'string' ? `${format.syntax} ` : '';
  const description =
    definition === undefined ? 'The input, as text' : `The input, as text by this ${syntax}grammar:\n${definition}`;
  return {
    type: 'object',
    properties: { [INPUT]: { type: 'string', description } },
    required: [INPUT],
    additionalProperties: false,
  };
}

export function toCustomArguments(input: string): Arguments {
  return { arguments: { [INPUT]: input }, raw_arguments: null };
}

/** The text of a call. A model that did not keep to the schema has written something else, which the agent sees. */
export function customInput(call: ToolCall): string {
  const { [INPUT]: input } = call.arguments;
  return typeof input === 'string' ? input : argumentsText(call);
}
