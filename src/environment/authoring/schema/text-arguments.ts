import type { JsonObject, JsonSchema } from '../../../contract/json.ts';

/**
 * Reads the arguments of an MCP prompt, which are sent as text. Text stays text if the schema accepts text there.
 * Otherwise it is parsed as JSON (`5`, `true`, `["a"]`). Text that is not JSON stays text, and the schema then refuses
 * it by name.
 */
export function readTextArguments(schema: JsonSchema, args: Readonly<Record<string, string>>): JsonObject {
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  // Not built by assignment, because that would drop `__proto__`, which the schema has to refuse.
  return Object.fromEntries(
    Object.entries(args).map(([name, text]) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return [name, property === undefined || takesText(property) ? text : fromJson(text)];
    }),
  );
}

function takesText(schema: JsonSchema): boolean {
  if (schema.type !== undefined) return [schema.type].flat().includes('string');
  if (Array.isArray(schema.enum)) return schema.enum.some((value) => typeof value === 'string');
  if ('const' in schema) return typeof schema.const === 'string';
  const alternatives = [schema.anyOf, schema.oneOf].find(Array.isArray);
  if (alternatives !== undefined) return alternatives.some((alternative) => takesText(alternative as JsonSchema));
  return !('$ref' in schema);
}

function fromJson(text: string): JsonObject[string] {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
