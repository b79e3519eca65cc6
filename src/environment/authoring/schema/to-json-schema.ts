import { createRequire } from 'node:module';
import { z } from 'zod';
import { messageOf } from '../../../contract/errors.ts';
import type { JsonSchema } from '../../../contract/json.ts';
import { withoutNoise } from '../without-noise.ts';
import { findArkUnrepresentable } from './arktype.ts';
import { closeObjects } from './json-schema-walk.ts';
import type { StandardSchema, Zod3Schema } from './schema-types.ts';

export type Side = 'input' | 'output';

/** Converts a raw shape into a zod object. */
export function shapeToZod(shape: object): StandardSchema {
  return z.object(shape as z.core.$ZodShape);
}

/** @throws TypeError that names a field which JSON Schema cannot express, such as a date. */
export function zod4ToJsonSchema(schema: StandardSchema, where: string, side: Side): JsonSchema {
  const type = schema as unknown as z.core.$ZodType;
  try {
    return withoutDialect(withoutNoise(closeObjects(z.toJSONSchema(type, { io: side }))));
  } catch (cause) {
    throw unrepresentable(where, findUnrepresentable(type, side), messageOf(cause), cause);
  }
}

/** @throws TypeError that names a field which JSON Schema cannot express, such as a date. */
export function zod3ToJsonSchema(schema: Zod3Schema, where: string): JsonSchema {
  // Loaded here because the library also loads zod 3. Most environments do not use zod 3 and start faster without it.
  const library: typeof import('zod-to-json-schema') = createRequire(import.meta.url)('zod-to-json-schema');
  const jsonSchema = library.zodToJsonSchema(schema as unknown as Parameters<typeof library.zodToJsonSchema>[0], {
    override(definition, { currentPath }) {
      const { typeName } = definition as { typeName?: string };
      if (typeName !== undefined && ZOD3_UNREPRESENTABLE.has(typeName)) {
        throw unrepresentable(where, currentPath.slice(1), `${typeName} cannot be represented in JSON Schema`);
      }
      return library.ignoreOverride;
    },
  });
  return withoutNoise(closeObjects({ ...jsonSchema }));
}

/** @throws TypeError if the library cannot write the schema as JSON Schema. */
export function standardToJsonSchema(schema: StandardSchema, where: string, side: Side): JsonSchema {
  const { vendor, jsonSchema } = schema['~standard'];
  if (jsonSchema === undefined) {
    throw new TypeError(
      `${where}: the ${vendor} schema does not expose JSON Schema (\`~standard.jsonSchema\`); use the library's own conversion and pass the JSON Schema`,
    );
  }
  const unfit = findArkUnrepresentable(schema, side);
  if (unfit !== undefined) {
    throw unrepresentable(where, unfit.path, `${vendor} cannot write the schema as JSON Schema (${unfit.what})`);
  }
  try {
    return withoutDialect(withoutNoise(jsonSchema[side]({ target: 'draft-2020-12' })));
  } catch (cause) {
    throw new TypeError(`${where}: ${vendor} cannot write the schema as JSON Schema: ${messageOf(cause)}`, { cause });
  }
}

// For these types zod-to-json-schema leaves the field out, or writes a schema whose values zod then refuses.
const ZOD3_UNREPRESENTABLE: ReadonlySet<string> = new Set(
  ['Date', 'BigInt', 'Map', 'Set', 'Symbol', 'Function', 'Promise', 'NaN', 'Undefined', 'Void'].map(
    (name) => `Zod${name}`,
  ),
);

/**
 * Removes `$schema` if it names 2020-12, which is MCP's default. Validators of older clients refuse a `$schema` that
 * they do not know.
 */
function withoutDialect({ $schema, ...schema }: JsonSchema): JsonSchema {
  return $schema === undefined || $schema === 'https://json-schema.org/draft/2020-12/schema'
    ? schema
    : { $schema, ...schema };
}

/** The path of the deepest schema that cannot be converted. zod's own error does not name it. */
function findUnrepresentable(schema: z.core.$ZodType, side: Side): readonly string[] {
  let deepest: readonly string[] = [];
  const override: z.core.ToJSONSchemaParams['override'] = ({ zodSchema, path }) => {
    if (path.length > deepest.length && !isRepresentable(zodSchema, side)) deepest = path.map(String);
  };
  try {
    z.toJSONSchema(schema, { io: side, unrepresentable: 'any', override });
  } catch {
    // The conversion may still fail, for example because of an example that JSON cannot hold. All schemas have been
    // visited by then.
  }
  return deepest;
}

function isRepresentable(schema: z.core.$ZodType, side: Side): boolean {
  try {
    z.toJSONSchema(schema, { io: side });
    return true;
  } catch {
    return false;
  }
}

function unrepresentable(where: string, path: readonly string[], reason: string, cause?: unknown): TypeError {
  const field = path.filter((part) => part !== 'properties').join('.');
  return new TypeError(
    `${where}${field === '' ? '' : `, field "${field}"`}: ${reason}; arguments and results are JSON, so take its JSON form (for a date z.iso.datetime())`,
    { cause },
  );
}
