import { isJsonObject, type Json, type JsonObject, type JsonSchema } from '../../../contract/json.ts';
import { validateJsonSchema } from '../../../support/schema/json-schema.ts';

/** A value with one changed leaf, and the path of the leaf. */
export interface ChangedValue<T extends Json = Json> {
  readonly path: string;
  readonly before: Json;
  readonly after: Json;
  readonly value: T;
}

/** All variants of a value with one changed leaf, as far as the schema allows. */
export function changedValues<T extends Json>(value: T, schema: JsonSchema | null): readonly ChangedValue<T>[] {
  return leafPaths(value).flatMap((path) => {
    const before = at(value, path);
    const others = othersThan(before, schemaAt(schema, path));
    const changes = others.map((after) => ({
      path: path.join('.'),
      before,
      after,
      value: replaced(value, path, after) as T,
    }));
    const fitting = changes.find((change) => schema === null || isValid(schema, change.value));
    return fitting === undefined ? [] : [fitting];
  });
}

type Path = readonly string[];

function leafPaths(value: Json, path: Path = []): readonly Path[] {
  if (Array.isArray(value)) return value.flatMap((member, index) => leafPaths(member, [...path, String(index)]));
  if (isJsonObject(value)) return Object.entries(value).flatMap(([name, member]) => leafPaths(member, [...path, name]));
  return value === null ? [] : [path];
}

function at(value: Json, path: Path): Json {
  return path.reduce<Json>((current, name) => (current as JsonObject)[name] ?? null, value);
}

function replaced(value: Json, [name, ...rest]: Path, after: Json): Json {
  if (name === undefined) return after;
  if (Array.isArray(value)) {
    return value.map((member, index) => (String(index) === name ? replaced(member, rest, after) : member));
  }
  const object = value as JsonObject;
  return { ...object, [name]: replaced(object[name] ?? null, rest, after) };
}

/** Other values for a leaf, nearest first. */
function othersThan(value: Json, schema: unknown): readonly Json[] {
  const choices = isJsonObject(schema) && Array.isArray(schema.enum) ? (schema.enum as Json[]) : [];
  if (choices.length > 1) return choices.filter((choice) => choice !== value);
  if (typeof value === 'boolean') return [!value];
  if (typeof value === 'number') return [value + 1, value - 1, value * 2 + 1, 0].filter((other) => other !== value);
  const text = String(value);
  const digit = text.replace(/\d(?=\D*$)/, (last) => String((Number(last) + 1) % 10));
  return [...(digit === text ? [] : [digit]), `${text}x`, text.slice(1), text.split('').reverse().join('')].filter(
    (other) => other !== text,
  );
}

/** The part of a schema for a leaf; only direct properties and items are followed. */
function schemaAt(schema: JsonSchema | null, path: Path): unknown {
  return path.reduce<unknown>((current, name) => {
    if (!isJsonObject(current)) return undefined;
    const { properties, items } = current;
    return isJsonObject(properties) && name in properties ? properties[name] : items;
  }, schema);
}

function isValid(schema: JsonSchema, value: Json): boolean {
  try {
    return validateJsonSchema(schema, value).length === 0;
  } catch {
    return false;
  }
}
