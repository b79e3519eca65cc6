import type { JsonObject, JsonSchema } from '../contract/json.ts';

/**
 * The arguments of an MCP prompt, which are text on the wire, as the values that a schema of arguments takes: text stays
 * text where the schema takes text, and is read as JSON elsewhere (`5`, `true`, `["a"]`). What is not JSON stays text, so
 * that the schema refuses it by name.
 */
export function readTextArguments(schema: JsonSchema, args: Readonly<Record<string, string>>): JsonObject {
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  // Not by assignment, which drops `__proto__`: the schema is to refuse it.
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
