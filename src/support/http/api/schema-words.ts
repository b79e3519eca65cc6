import { isJsonObject, type JsonSchema } from '../../../contract/json.ts';

/** The schema of the value at a path; undefined when the schema does not describe it. */
export function toSchemaAt(root: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  let at: JsonSchema | undefined = root;
  for (const key of path) {
    if (at === undefined) return undefined;
    at = [at, ...alternativesOf(at)].map((schema) => memberOf(schema, key)).find((member) => member !== undefined);
    if (at !== undefined) at = withoutNull(at);
  }
  return at;
}

function memberOf(schema: JsonSchema, key: string): JsonSchema | undefined {
  return own(schemasIn(schema.properties), key) ?? asSchema(schema.items) ?? asSchema(schema.additionalProperties);
}

function alternativesOf({ anyOf }: JsonSchema): readonly JsonSchema[] {
  return Array.isArray(anyOf) ? anyOf.map(asSchema).filter((schema) => schema !== undefined) : [];
}

/** Describes a schema in words that follow "has to be": `an integer from 1 to 500`. */
export function describeSchema(schema: JsonSchema | undefined): string | undefined {
  if (schema === undefined) return undefined;
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.map((value) => JSON.stringify(value)).join(', ')}`;
  if ('const' in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.anyOf)) return describeAll(schema.anyOf);
  if (Array.isArray(schema.type)) return describeAll(schema.type.map((type) => ({ ...schema, type })));
  switch (schema.type) {
    case 'integer':
    case 'number':
      return describeNumber(schema);
    case 'string':
      if (schema.format === 'date-time') return 'a time in ISO 8601, such as "2026-01-31T12:00:00Z"';
      return describeString(schema);
    case 'boolean':
      return 'true or false';
    case 'array':
      return describeArray(schema);
    case 'object':
      return asSchema(schema.additionalProperties)?.type === 'string' ? 'an object of strings' : 'an object';
    case 'null':
      return 'null';
    default:
      return undefined;
  }
}

function describeString({ minLength, maxLength }: JsonSchema): string {
  if (maxLength !== undefined) return `a string of ${minLength ?? 0} to ${maxLength} characters`;
  return minLength === 1 ? 'a string that is not empty' : 'a string';
}

function describeArray({ minItems, maxItems }: JsonSchema): string {
  if (maxItems !== undefined) return `an array of ${minItems ?? 0} to ${maxItems} items`;
  return minItems === 1 ? 'an array that is not empty' : 'an array';
}

function describeNumber(schema: JsonSchema): string {
  const noun = schema.type === 'integer' ? 'an integer' : 'a number';
  const isLowest = schema.minimum === undefined || schema.minimum === Number.MIN_SAFE_INTEGER;
  const isHighest = schema.maximum === undefined || schema.maximum === Number.MAX_SAFE_INTEGER;
  if (isLowest && isHighest) {
    if (schema.exclusiveMinimum !== undefined) return `${noun} above ${schema.exclusiveMinimum}`;
    return schema.type === 'integer' ? 'a safe integer' : noun;
  }
  if (isHighest) return `${noun} of ${schema.minimum} or more`;
  if (isLowest) return `${noun} of ${schema.maximum} or less`;
  return `${noun} from ${schema.minimum} to ${schema.maximum}`;
}

function describeAll(schemas: readonly unknown[]): string | undefined {
  const objects = schemas.map(asSchema).filter((schema) => schema?.type === 'object');
  // Several kinds of objects differ by what they need.
  const words = schemas.map(
    (schema) => (objects.length > 1 ? describeNeeds(asSchema(schema)) : undefined) ?? describeSchema(asSchema(schema)),
  );
  return words.every((word) => word !== undefined) ? words.join(' or ') : undefined;
}

function describeNeeds(schema: JsonSchema | undefined): string | undefined {
  if (schema?.type !== 'object' || !Array.isArray(schema.required) || schema.required.length === 0) return undefined;
  return `an object with ${schema.required.join(', ')}`;
}

/** Removes null from a type. zod writes nullable as `anyOf`, or as a list of types for a bare type. */
function withoutNull(schema: JsonSchema): JsonSchema {
  if (Array.isArray(schema.type)) {
    const types = schema.type.filter((type) => type !== 'null');
    return { ...schema, type: types.length === 1 ? types[0] : types };
  }
  if (!Array.isArray(schema.anyOf)) return schema;
  const rest = schema.anyOf.map(asSchema).filter((option) => option !== undefined && option.type !== 'null');
  return rest.length === 1 && rest[0] !== undefined ? rest[0] : schema;
}

function schemasIn(value: unknown): Readonly<Record<string, unknown>> {
  return isJsonObject(value) ? value : {};
}

function own(schemas: Readonly<Record<string, unknown>>, key: string): JsonSchema | undefined {
  return Object.hasOwn(schemas, key) ? asSchema(schemas[key]) : undefined;
}

function asSchema(value: unknown): JsonSchema | undefined {
  return isJsonObject(value) ? value : undefined;
}
