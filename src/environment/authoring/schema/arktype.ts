import { isJsonObject } from '../../../contract/json.ts';

/** A schema of ArkType. It is recognised by its structure, because authors bring their own copy of ArkType. */
interface ArkSchema {
  readonly in: ArkSchema;
  readonly out: ArkSchema;
  toJsonSchema(options: { readonly fallback: (problem: ArkProblem) => object }): unknown;
}

interface ArkProblem {
  readonly code: string;
  readonly base: object;
}

/**
 * ArkType's codes for types that JSON cannot represent. JSON Schema can represent its other types, with less precision.
 */
const UNREPRESENTABLE: ReadonlySet<string> = new Set(['date', 'domain', 'proto', 'unit', 'symbolKey']);
const MARK = 'x-unrepresentable';

/**
 * Finds the part of an ArkType schema that JSON Schema cannot express, such as a date. ArkType itself would write there
 * that any value is allowed, and its own check would then refuse every JSON value.
 */
export function findArkUnrepresentable(
  schema: object,
  side: 'input' | 'output',
): { readonly path: readonly string[]; readonly what: string } | undefined {
  const { vendor } = (schema as { readonly '~standard': { readonly vendor: string } })['~standard'];
  if (vendor !== 'arktype' || !isArkSchema(schema)) return undefined;
  const written = schema[side === 'input' ? 'in' : 'out'].toJsonSchema({
    fallback: ({ code, base }) => (UNREPRESENTABLE.has(code) ? { ...base, [MARK]: code } : base),
  });
  return findMark(written, []);
}

function isArkSchema(schema: object): schema is ArkSchema {
  return 'toJsonSchema' in schema && typeof schema.toJsonSchema === 'function' && 'in' in schema && 'out' in schema;
}

function findMark(value: unknown, path: readonly string[]): { path: readonly string[]; what: string } | undefined {
  if (!isJsonObject(value) && !Array.isArray(value)) return undefined;
  if (isJsonObject(value) && typeof value[MARK] === 'string') return { path, what: value[MARK] };
  for (const [key, inner] of Object.entries(value)) {
    const found = findMark(inner, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}
