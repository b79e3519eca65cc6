import { isJsonObject } from '../contract/json.ts';

/** A schema of ArkType, known by its structure: authors bring their own copy. */
interface ArkSchema {
  readonly in: ArkSchema;
  readonly out: ArkSchema;
  toJsonSchema(options: { readonly fallback: (problem: ArkProblem) => object }): unknown;
}

interface ArkProblem {
  readonly code: string;
  readonly base: object;
}

/** Types that JSON cannot represent. Other types it represents less precisely. */
const UNREPRESENTABLE: ReadonlySet<string> = new Set(['date', 'domain', 'proto', 'unit', 'symbolKey']);
const MARK = 'x-unrepresentable';

/**
 * Where a schema of ArkType has what JSON Schema has no form for, such as a date: what it writes by itself says there that
 * anything will do, which its own check then refuses.
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
