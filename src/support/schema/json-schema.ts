import { createRequire } from 'node:module';
import type { Ajv, ErrorObject, Options, ValidateFunction } from 'ajv';
import type { Json, JsonSchema } from '../../contract/json.ts';

/** One fault of a value. `path` is dotted (`address.zip`, `items.0`), and empty for the value itself. */
export interface SchemaIssue {
  readonly path: string;
  readonly message: string;
}

/** Message for a name that a closed object does not have. */
export const UNKNOWN_ARGUMENT = 'is not an argument that exists';

/** The issues of an answer or a result. Their messages say "field" where those of a call say "argument". */
export function asFields(issues: readonly SchemaIssue[]): readonly SchemaIssue[] {
  return issues.map((issue) =>
    issue.message === UNKNOWN_ARGUMENT ? { ...issue, message: 'is not a field that exists' } : issue,
  );
}

const compiled = new WeakMap<JsonSchema, ValidateFunction>();

/**
 * Checks a value against a JSON Schema (2020-12, or draft-07 if `$schema` says so). It returns all faults, worded for
 * the sender of the value. The value is not changed, and defaults are not filled in.
 *
 * @throws Error when the schema itself cannot be compiled. References to other documents are never fetched.
 */
export function validateJsonSchema(schema: JsonSchema, value: unknown): readonly SchemaIssue[] {
  const validate = compiled.get(schema) ?? compile(schema);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(toIssue);
}

const fillers = new WeakMap<JsonSchema, ValidateFunction>();

/**
 * A copy of a value that has the defaults of the schema where the value leaves something out. Everything else stays,
 * whether or not it fits.
 *
 * @throws Error when the schema cannot be compiled.
 */
export function withDefaults<Value extends Json>(schema: JsonSchema, value: Value): Value {
  const fill =
    fillers.get(schema) ?? createAjv(dialectOf(schema), { validateSchema: false, useDefaults: true }).compile(schema);
  fillers.set(schema, fill);
  const filled = structuredClone(value);
  fill(filled);
  return filled;
}

/**
 * Loads and compiles everything that the first check needs, about 60 ms, for a server that has no time for it later.
 */
export function preloadSchemaChecks(): void {
  compile({ type: 'object' });
}

type Dialect = 'draft-07' | '2020-12';

/**
 * Checkers of schemas. They keep no schema. Each schema gets a validator of its own, because two schemas may have the
 * same `$id`.
 */
const schemaCheckers = new Map<Dialect, Ajv>();

function compile(schema: JsonSchema): ValidateFunction {
  const dialect = dialectOf(schema);
  const checker = schemaCheckers.get(dialect) ?? createAjv(dialect);
  schemaCheckers.set(dialect, checker);
  void checker.validateSchema(schema, true); // It throws for an invalid schema.
  const validate = createAjv(dialect, { validateSchema: false }).compile(schema);
  compiled.set(schema, validate);
  return validate;
}

function dialectOf({ $schema }: JsonSchema): Dialect {
  return typeof $schema === 'string' && $schema.includes('draft-07') ? 'draft-07' : '2020-12';
}

function createAjv(dialect: Dialect, options: Options = {}): Ajv {
  // The libraries are loaded by the first schema that needs them. They take a fifth of the start time of an
  // environment.
  const require = createRequire(import.meta.url);
  const Validator: typeof Ajv = dialect === 'draft-07' ? require('ajv').Ajv : require('ajv/dist/2020.js').Ajv2020;
  const ajv = new Validator({ strict: false, allErrors: true, logger: false, verbose: true, ...options });
  require('ajv-formats')(ajv);
  return ajv;
}

function toIssue(error: ErrorObject): SchemaIssue {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (error.keyword === 'required')
    return { path: [...path, error.params.missingProperty].join('.'), message: 'is required' };
  if (error.keyword === 'additionalProperties' || error.keyword === 'unevaluatedProperties') {
    const name = error.params.additionalProperty ?? error.params.unevaluatedProperty;
    return { path: [...path, name].join('.'), message: UNKNOWN_ARGUMENT };
  }
  const allowed = error.keyword === 'enum' ? `: ${JSON.stringify(error.params.allowedValues)}` : '';
  return { path: path.join('.'), message: `${error.message ?? 'is invalid'}${allowed}, got ${preview(error.data)}` };
}

/** A value for an error message: as JSON if possible, at most 80 characters. */
export function preview(value: unknown): string {
  // JSON cannot hold such a number, although parsing a text like 1e400 gives one.
  const text = typeof value === 'number' && !Number.isFinite(value) ? String(value) : jsonOrText(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function jsonOrText(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
