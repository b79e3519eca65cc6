import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../contract/json.ts';
import { type SchemaIssue, UNKNOWN_ARGUMENT } from '../schema/json-schema.ts';

/**
 * Closes the objects that a schema lists properties of and says nothing more about, those in alternatives (`anyOf`,
 * `oneOf`) too. Parts that hold together (`allOf`) stay as they are: each would refuse the properties of the others.
 */
export function closeObjects(schema: JsonSchema): JsonSchema {
  const closed: JsonSchema = { ...schema };
  for (const keyword of ALTERNATIVES) {
    const alternatives = schema[keyword];
    if (!Array.isArray(alternatives)) continue;
    closed[keyword] = alternatives.map((alternative) =>
      isSchema(alternative) ? closeObjects(alternative) : alternative,
    );
  }
  if (isSchema(schema.properties)) {
    closed.properties = mapValues(schema.properties, (property) =>
      isSchema(property) ? closeObjects(property) : property,
    );
    if (schema.type === 'object' && schema.additionalProperties === undefined) closed.additionalProperties = false;
  }
  if (isSchema(schema.items)) closed.items = closeObjects(schema.items);
  if (isSchema(schema.additionalProperties)) closed.additionalProperties = closeObjects(schema.additionalProperties);
  return closed;
}

/** The names in a value that its closed objects do not have. Libraries that would drop them silently never see them. */
export function unknownNames(schema: JsonSchema, value: unknown, path: readonly string[] = []): SchemaIssue[] {
  const alternatives = ALTERNATIVES.map((keyword) => schema[keyword]).find(Array.isArray);
  if (alternatives !== undefined) {
    // Which one is meant is for the schema to say: the one that knows most of the names cannot refuse too much.
    const found = alternatives
      .filter((alternative): alternative is JsonSchema => isSchema(alternative) && takesKindOf(alternative, value))
      .map((alternative) => unknownNames(alternative, value, path));
    return found.sort((a, b) => a.length - b.length)[0] ?? [];
  }
  if (Array.isArray(value)) {
    const { items } = schema;
    return isSchema(items) ? value.flatMap((item, index) => unknownNames(items, item, [...path, String(index)])) : [];
  }
  const { properties = {}, additionalProperties } = schema;
  if (!isJsonObject(value) || !isSchema(properties)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const place = [...path, name];
    const property = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (isSchema(property)) return unknownNames(property, member, place);
    if (Object.hasOwn(properties, name) || additionalProperties !== false) return [];
    return [{ path: place.join('.'), message: UNKNOWN_ARGUMENT }];
  });
}

/** A copy of the value with the defaults of properties that are not there, as other schema libraries fill them in. */
export function withDefaults(schema: JsonSchema, value: unknown): unknown {
  if (!isJsonObject(value) || !isSchema(schema.properties)) return value;
  const filled: JsonObject = { ...value };
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isSchema(property)) continue;
    if (!Object.hasOwn(filled, name) && property.default !== undefined)
      filled[name] = structuredClone(property.default) as Json;
    if (Object.hasOwn(filled, name)) filled[name] = withDefaults(property, filled[name]) as Json;
  }
  return filled;
}

/** The value at a path of a value; undefined if there is none. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined;
    current = (current as Record<string, unknown>)[part];
  }
  return current;
}

/** True when the schema says that what stands at this path must be there. */
export function isRequired(schema: JsonSchema, path: readonly string[]): boolean {
  const [name, ...rest] = path;
  if (name === undefined) return false;
  if (rest.length === 0) return Array.isArray(schema.required) && schema.required.includes(name);
  const next =
    schema.type === 'array' ? schema.items : isSchema(schema.properties) ? schema.properties[name] : undefined;
  return isSchema(next) && isRequired(next, rest);
}

const ALTERNATIVES = ['anyOf', 'oneOf'] as const;

function takesKindOf({ type }: JsonSchema, value: unknown): boolean {
  return type === undefined || [type].flat().includes(Array.isArray(value) ? 'array' : typeof value);
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mapValues(object: JsonSchema, change: (value: unknown) => unknown): JsonSchema {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, change(value)]));
}

/** A copy in which each schema that stands inside of this one is changed. */
export function mapSubschemas(schema: JsonSchema, change: (inner: JsonSchema) => JsonSchema): JsonSchema {
  const inside = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(inside);
    return isSchema(value) ? change(value) : value;
  };
  const mapped: JsonSchema = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (SCHEMA_MAPS.has(keyword)) mapped[keyword] = isSchema(value) ? mapValues(value, inside) : value;
    else mapped[keyword] = DATA.has(keyword) ? value : inside(value);
  }
  return mapped;
}

/** Keywords whose value has schemas by name. */
const SCHEMA_MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions']);
/** Keywords whose value is data that may look like a schema. */
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples']);
