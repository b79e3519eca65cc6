import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../../contract/json.ts';
import { type SchemaIssue, UNKNOWN_ARGUMENT } from '../../../support/schema/json-schema.ts';

/**
 * Forbids unknown properties in objects that list their properties and do not mention others, also inside `anyOf` and
 * `oneOf`. Parts of `allOf` are not changed, because each part would refuse the properties of the others.
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

/** The unknown names in a value. They are checked here because some libraries would drop them silently. */
export function unknownNames(schema: JsonSchema, value: unknown, path: readonly string[] = []): SchemaIssue[] {
  const alternatives = ALTERNATIVES.map((keyword) => schema[keyword]).find(Array.isArray);
  if (alternatives !== undefined) {
    // Uses the alternative with the fewest unknown names, because only the schema's own check knows which one is meant.
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

/** A copy of the value in which missing properties get their defaults, as other schema libraries do. */
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

/** The value at a path, or undefined if the path does not exist. */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined;
    current = (current as Record<string, unknown>)[part];
  }
  return current;
}

/** True if the schema requires a value at this path. */
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

/** A copy in which `change` replaces each schema directly inside this one. */
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

/** Keywords whose value maps names to schemas. */
const SCHEMA_MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions']);
/** Keywords whose value is data that may look like a schema. */
const DATA: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples']);
