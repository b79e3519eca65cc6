import { messageOf } from '../../../contract/errors.ts';
import type { JsonSchema } from '../../../contract/json.ts';
import {
  preview,
  type SchemaIssue,
  UNKNOWN_ARGUMENT,
  validateJsonSchema,
} from '../../../support/schema/json-schema.ts';
import type { CompiledSchema, ParseResult } from '../definition.ts';
import { isWritable } from '../presentation.ts';
import { isRequired, unknownNames, valueAt, withDefaults } from './json-schema-walk.ts';
import type { AnySchema, StandardIssue, StandardResult, StandardSchema, Zod3Schema } from './schema-types.ts';
import { type Side, shapeToZod, standardToJsonSchema, zod3ToJsonSchema, zod4ToJsonSchema } from './to-json-schema.ts';

export interface CompileOptions {
  /**
   * `input` (default) describes the value that a caller sends, `output` the value after parsing. They differ by
   * defaults and transforms.
   */
  readonly side?: Side;
  /**
   * Allowed type of the root. `object` (default) is for arguments, which are objects in MCP. `structured` allows a list
   * too, for structured content.
   */
  readonly root?: 'object' | 'structured' | 'any';
}

/**
 * Compiles a schema of any supported library into its JSON Schema and a function that reads values. Unknown argument
 * names are refused unless the schema allows them. A zod object allows them if it is loose or has a catchall; plain
 * JSON Schema is used as written.
 *
 * @param where starts the error messages, such as `Tool "increment", args`.
 * @throws TypeError if it is not a schema, if JSON Schema cannot express it (the message names the field), or if the
 *   root has the wrong type.
 */
export function compileSchema(schema: AnySchema, where: string, options: CompileOptions = {}): CompiledSchema {
  const { side = 'input', root = 'object' } = options;
  let compiled = cache[side].get(schema);
  if (compiled === undefined) {
    compiled = compile(schema, where, side);
    assertWritable(compiled.jsonSchema, where);
    cache[side].set(schema, compiled);
  }
  const { jsonSchema } = compiled;
  const isFit =
    root === 'any' || jsonSchema.type === 'object' || (root === 'structured' && jsonSchema.type === 'array');
  if (isFit) return compiled;
  const expected = root === 'structured' ? 'an object or a list' : 'an object';
  throw new TypeError(`${where}: the schema has to be that of ${expected}, got ${preview(jsonSchema)}`);
}

/** Describes the issues in one line that names each bad field: `by: expected number, got "five"; to: is required`. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  return issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}

/** Arguments or an answer do not fit their schema. The message names each bad field. */
class InvalidArgumentsError extends Error {
  override readonly name = 'InvalidArgumentsError';
  readonly issues: readonly SchemaIssue[];

  constructor(what: string, issues: readonly SchemaIssue[]) {
    super(`${what}: ${describeIssues(issues)}`);
    this.issues = issues;
  }
}

/** Reads a value with a schema. @throws InvalidArgumentsError whose message starts with `what`. */
export async function parseOrThrow(schema: CompiledSchema, value: unknown, what: string): Promise<unknown> {
  const parsed = await schema.parse(value);
  if (!parsed.ok) throw new InvalidArgumentsError(what, parsed.issues);
  return parsed.value;
}

// Compiled schemas. Sessions create many instances of a class, and a decorator gives all of them the same schema
// object.
const cache = { input: new WeakMap<object, CompiledSchema>(), output: new WeakMap<object, CompiledSchema>() };

function compile(schema: AnySchema, where: string, side: Side): CompiledSchema {
  if (!isObject(schema)) throw notASchema(where, schema);
  if (isZod4(schema)) return compileStandard(schema, zod4ToJsonSchema(schema, where, side), side);
  if (isZod3(schema)) return compileZod3(schema, where, side);
  if (isStandard(schema)) return compileStandard(schema, standardToJsonSchema(schema, where, side), side);
  if (!isPlainObject(schema)) throw notASchema(where, schema);
  const members = Object.values(schema).filter(isObject);
  if (members.length === Object.keys(schema).length && members.every(isZod4)) {
    const object = shapeToZod(schema);
    return compileStandard(object, zod4ToJsonSchema(object, where, side), side);
  }
  if (members.some((member) => isZod4(member) || isZod3(member) || isStandard(member))) {
    throw new TypeError(
      `${where}: a raw shape takes zod 4 schemas alone; wrap others in their library's own object schema`,
    );
  }
  if (!ROOT_KEYWORDS.some((keyword) => keyword in schema)) throw notASchema(where, schema);
  return compilePlain(schema, where, side);
}

/**
 * Defaults, examples and comments in a schema may be any value. @throws TypeError that names the keyword if JSON cannot
 * hold one.
 */
function assertWritable(jsonSchema: JsonSchema, where: string): void {
  const field = findUnwritable(jsonSchema);
  if (field === undefined) return;
  throw new TypeError(`${where}: the schema has a value at ${field.join('.')} that JSON cannot hold`);
}

/** The path to a value that JSON cannot hold. */
function findUnwritable(value: unknown): readonly string[] | undefined {
  if (isWritable(value)) return undefined;
  if (typeof value !== 'object' || value === null) return [];
  for (const [key, inner] of Object.entries(value)) {
    if (inner === undefined) continue;
    const found = findUnwritable(inner);
    if (found !== undefined) return [key, ...found];
  }
  return [];
}

/** A JSON Schema has at least one of these keywords. */
const ROOT_KEYWORDS = ['type', 'properties', '$ref', 'enum', 'const', 'anyOf', 'oneOf', 'allOf'];

function compileStandard(schema: StandardSchema, jsonSchema: JsonSchema, side: Side): CompiledSchema {
  return {
    jsonSchema,
    // Not an async function, because most schemas answer at once and each tool call waits for this.
    parse(given) {
      const value = orEmpty(given, jsonSchema);
      const finish = (result: StandardResult<unknown>) =>
        result.issues === undefined
          ? toParseResult(side, jsonSchema, value, [], result.value)
          : toParseResult(side, jsonSchema, value, result.issues, undefined);
      const result = schema['~standard'].validate(value);
      // Tests for `then`, because a library may use its own promise class.
      return 'then' in result ? result.then(finish) : finish(result);
    },
  };
}

function compileZod3(schema: Zod3Schema & Zod3Parser, where: string, side: Side): CompiledSchema {
  const jsonSchema = zod3ToJsonSchema(schema, where);
  return {
    jsonSchema,
    async parse(given) {
      const value = orEmpty(given, jsonSchema);
      const { error, data } = await schema.safeParseAsync(value);
      return toParseResult(side, jsonSchema, value, error?.issues ?? [], data);
    },
  };
}

function compilePlain(jsonSchema: JsonSchema, where: string, side: Side): CompiledSchema {
  try {
    validateJsonSchema(jsonSchema, {});
  } catch (cause) {
    throw new TypeError(`${where}: the JSON Schema cannot be compiled: ${messageOf(cause)}`, { cause });
  }
  return {
    jsonSchema,
    parse(given) {
      const value = side === 'input' ? withDefaults(jsonSchema, orEmpty(given, jsonSchema)) : given;
      const issues = validateJsonSchema(jsonSchema, value);
      return issues.length === 0 ? { ok: true, value } : { ok: false, issues };
    },
  };
}

/** A call may leave out an empty arguments object. */
function orEmpty(value: unknown, jsonSchema: JsonSchema): unknown {
  return value === undefined && jsonSchema.type === 'object' ? {} : value;
}

/** Combines the schema's own issues with the unknown argument names, which the schema would drop silently. */
function toParseResult(
  side: Side,
  jsonSchema: JsonSchema,
  given: unknown,
  found: readonly StandardIssue[],
  value: unknown,
): ParseResult {
  const unknown = side === 'input' ? unknownNames(jsonSchema, given) : [];
  const issues = [...unknown, ...found.flatMap((issue) => toIssues(issue, jsonSchema, given))];
  if (issues.length === 0) return { ok: true, value };
  // A strict object reports an unknown field too, so duplicates are removed.
  const distinct = new Map(issues.map((issue) => [`${issue.path} ${issue.message}`, issue]));
  return { ok: false, issues: [...distinct.values()] };
}

function toIssues(issue: StandardIssue & { keys?: unknown }, jsonSchema: JsonSchema, given: unknown): SchemaIssue[] {
  const path = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part));
  // zod reports all unknown names of a strict object in one issue.
  if (Array.isArray(issue.keys)) {
    return issue.keys.map((key) => ({ path: [...path, key].join('.'), message: UNKNOWN_ARGUMENT }));
  }
  const value = valueAt(given, path);
  if (value === undefined && isRequired(jsonSchema, path)) return [{ path: path.join('.'), message: 'is required' }];
  const message = issue.message.replace(/^Invalid input: /, '').replace(/, received .*$/, '');
  return [{ path: path.join('.'), message: value === undefined ? message : `${message}, got ${preview(value)}` }];
}

interface Zod3Parser {
  safeParseAsync(value: unknown): Promise<{
    readonly data?: unknown;
    readonly error?: { readonly issues: readonly StandardIssue[] };
  }>;
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' || typeof value === 'function') && value !== null;
}

function isStandard(schema: object): schema is StandardSchema {
  return '~standard' in schema;
}

function isZod4(schema: object): schema is StandardSchema {
  return '_zod' in schema && isStandard(schema);
}

function isZod3(schema: object): schema is Zod3Schema & Zod3Parser {
  return '_def' in schema && isObject(schema._def) && 'typeName' in schema._def && 'safeParseAsync' in schema;
}

function isPlainObject(value: object): value is JsonSchema {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function notASchema(where: string, found: unknown): TypeError {
  return new TypeError(
    `${where}: takes a zod object, a shape of zod schemas, a Standard Schema with JSON Schema, or a JSON Schema object with "type": "object"; got ${preview(found)}`,
  );
}
