import { z } from 'zod';
import { ApiError } from '../../../contract/errors.ts';
import { isJsonObject, type JsonSchema } from '../../../contract/json.ts';
import { preview } from '../../schema/json-schema.ts';
import { describeSchema, toSchemaAt } from './schema-words.ts';

/**
 * Checks a request body against the schema of its route.
 *
 * @returns the parsed body. @throws ApiError invalid_json for an empty body, invalid_parameter for a body that is not
 * an
 * object, or missing_required_parameter and invalid_parameter with the dotted path of the field.
 */
export function parseBody(schema: z.ZodType, body: unknown): unknown {
  const jsonSchema = toJsonSchema(schema);
  if (body === undefined) {
    const empty = schema.safeParse(undefined);
    if (empty.success) return empty.data;
    throw new ApiError('invalid_json', 'The body is empty; send a JSON object.');
  }
  if (!isJsonObject(body)) {
    throw new ApiError('invalid_parameter', `The body has to be a JSON object, got ${preview(body)}.`);
  }
  return parse(schema, jsonSchema, withoutNullScalars(body, jsonSchema));
}

/**
 * Checks query values against the schema of their route. Unknown names are ignored.
 *
 * @throws ApiError invalid_parameter with the name of the bad value.
 */
export function parseQuery(schema: z.ZodObject, query: URLSearchParams): unknown {
  const jsonSchema = toJsonSchema(schema);
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(schema.shape)) {
    const texts = query.getAll(name);
    if (texts.length > 1) {
      throw new ApiError('invalid_parameter', `${name} is given ${texts.length} times; give it once.`, { param: name });
    }
    if (texts[0] !== undefined) values[name] = toTyped(texts[0], toSchemaAt(jsonSchema, [name]));
  }
  return parse(schema, jsonSchema, values);
}

const jsonSchemas = new WeakMap<z.ZodType, JsonSchema>();

function toJsonSchema(schema: z.ZodType): JsonSchema {
  const known = jsonSchemas.get(schema);
  if (known !== undefined) return known;
  const made: JsonSchema = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  jsonSchemas.set(schema, made);
  return made;
}

function parse(schema: z.ZodType, jsonSchema: JsonSchema, value: unknown): unknown {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = innermost(parsed.error.issues[0]);
  const path = issue?.path.map(String) ?? [];
  const param = path.length === 0 ? null : path.join('.');
  const described = issue?.code === 'custom' ? undefined : describeSchema(toSchemaAt(jsonSchema, path));
  const words = described ?? issue?.message ?? 'valid';
  const got = valueAt(value, path);
  if (got === undefined && param !== null) {
    throw new ApiError('missing_required_parameter', `${param} is required: ${words}.`, { param });
  }
  throw new ApiError('invalid_parameter', `${param ?? 'The body'} has to be ${words}, got ${preview(got)}.`, {
    param,
  });
}

type Issue = z.core.$ZodIssue;

/** The issue of a union: that of the first alternative in which a field is at fault, and not the value as a whole. */
function innermost(issue: Issue | undefined): Issue | undefined {
  if (issue?.code !== 'invalid_union') return issue;
  const inside = issue.errors.map(([first]) => innermost(first)).find((first) => first && first.path.length > 0);
  return inside === undefined ? issue : { ...inside, path: [...issue.path, ...inside.path] };
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let at: unknown = value;
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = Object.getOwnPropertyDescriptor(at, key)?.value;
  }
  return at;
}

/** Removes explicit nulls of optional scalars, including those in nested objects (contract section 0). */
function withoutNullScalars(
  body: Readonly<Record<string, unknown>>,
  schema: JsonSchema,
): Readonly<Record<string, unknown>> {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const isAbsent = (name: string, value: unknown) =>
    value === null && !required.has(name) && !takesNull(schema, name) && isScalar(toSchemaAt(schema, [name]));
  const entries = Object.entries(body).map(([name, value]) => {
    const inner = isJsonObject(value) ? toSchemaAt(schema, [name]) : undefined;
    const isKnown = inner?.properties !== undefined && isJsonObject(value);
    return { name, value, kept: isKnown ? withoutNullScalars(value, inner) : value };
  });
  // Returns the same object when nothing changes, so that the schema sees names such as `__proto__`.
  if (entries.every(({ name, value, kept }) => kept === value && !isAbsent(name, value))) return body;
  return Object.fromEntries(
    entries.filter(({ name, value }) => !isAbsent(name, value)).map(({ name, kept }) => [name, kept]),
  );
}

/**
 * True for a nullable field, which gives null its own meaning: usually the same as absent, in a change "remove the
 * value".
 */
function takesNull({ properties }: JsonSchema, name: string): boolean {
  const field = isJsonObject(properties) ? properties[name] : undefined;
  const alternatives = isJsonObject(field) && Array.isArray(field.anyOf) ? field.anyOf : [];
  return alternatives.some((each) => isJsonObject(each) && each.type === 'null');
}

const SCALARS: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean']);

function isScalar(schema: JsonSchema | undefined): boolean {
  return SCALARS.has(schema?.type);
}

function toTyped(text: string, schema: JsonSchema | undefined): unknown {
  if (schema?.type === 'integer' || schema?.type === 'number') {
    // A number that is too large stays text, so that the error message shows it.
    return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text)) ? Number(text) : text;
  }
  if (schema?.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}
