import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { requiredText, textOrEmpty } from '../request-fields.ts';
import type { NewTool } from '../tool-names.ts';
import { fieldOf } from './gemini-fields.ts';

/** Converts a function declaration to a tool. */
export function toTool(declaration: JsonObject, param: string): NewTool {
  const schema = fieldOf(declaration, 'parametersJsonSchema');
  const { parameters } = declaration;
  return {
    own_name: requiredText(declaration.name, `${param}.name`),
    namespace: null,
    form: 'function',
    description: textOrEmpty(declaration.description),
    input_schema: isJsonObject(schema)
      ? schema
      : isJsonObject(parameters)
        ? toJsonSchema(parameters)
        : { type: 'object', properties: {} },
  };
}

/** Converts Google's form of OpenAPI schemas, whose type names are upper case, to JSON Schema. */
export function toJsonSchema(schema: JsonObject): JsonObject {
  const { type, nullable, ...rest } = schema;
  const out: JsonObject = {};
  for (const [name, value] of Object.entries(rest)) out[name] = toMember(name, value);
  if (typeof type !== 'string') return out;
  const small = type.toLowerCase();
  return { type: nullable === true ? [small, 'null'] : small, ...out };
}

/** Converts one member. Names in `properties` may look like keywords but are none. */
function toMember(name: string, value: Json): Json {
  if (name === 'properties' && isJsonObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [key, isJsonObject(inner) ? toJsonSchema(inner) : inner]),
    );
  }
  if (LIST_KEYWORDS.has(name) && Array.isArray(value)) {
    return value.map((inner) => (isJsonObject(inner) ? toJsonSchema(inner) : inner));
  }
  if (name === 'items' && isJsonObject(value)) return toJsonSchema(value);
  return LENGTHS.has(name) && typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
}

const LIST_KEYWORDS: ReadonlySet<string> = new Set(['anyOf', 'any_of', 'prefixItems']);

/** Members with 64-bit numbers, which Google's JSON writes as strings. */
const LENGTHS: ReadonlySet<string> = new Set([
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
]);
