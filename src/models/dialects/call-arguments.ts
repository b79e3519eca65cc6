import type { ToolCall } from '../../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts';
import { isTooDeep, MAX_INPUT_DEPTH } from '../../contract/json-depth.ts';

type Arguments = Pick<ToolCall, 'arguments' | 'raw_arguments'>;

/**
 * Parses a call's arguments. An empty text is `{}`. A text that is no JSON object, or is nested too deeply, is kept as
 * raw text, so that the model gets an error.
 */
export function parseArguments(text: string): Arguments {
  if (text.trim() === '') return { arguments: {}, raw_arguments: null };
  try {
    return toArguments(JSON.parse(text) as Json, text); // JSON.parse returns only JSON values.
  } catch {
    return { arguments: {}, raw_arguments: text };
  }
}

/** Arguments that came as JSON. @param text the original text, if there was one. */
export function toArguments(value: Json | undefined, text?: string): Arguments {
  if (value === undefined || value === null) return { arguments: {}, raw_arguments: text ?? null };
  if (isJsonObject(value) && !isTooDeep(value, MAX_INPUT_DEPTH)) return { arguments: value, raw_arguments: null };
  return { arguments: {}, raw_arguments: text ?? JSON.stringify(value) };
}

/** Arguments as JSON text. Raw text stays as the model wrote it. */
export function argumentsText(call: ToolCall): string {
  return call.raw_arguments ?? JSON.stringify(call.arguments);
}

/** Name of the only argument of a tool whose input is plain text. */
const INPUT = 'input';

/** Schema of a tool whose input is plain text. @param format of the text, which goes into the description. */
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

/** The text input of a call; all arguments if the model did not follow the schema. */
export function customInput(call: ToolCall): string {
  const { [INPUT]: input } = call.arguments;
  return typeof input === 'string' ? input : argumentsText(call);
}
