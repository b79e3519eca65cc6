import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts';

/** `response_format` of chat completions for a JSON Schema; undefined without a schema. */
export function toResponseFormat(schema: Json | undefined, options: JsonObject = {}): JsonObject | undefined {
  if (!isJsonObject(schema)) return undefined;
  return { type: 'json_schema', json_schema: { name: 'answer', ...options, schema } };
}
