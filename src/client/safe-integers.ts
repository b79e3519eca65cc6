import type { JsonSchema } from '../contract/json.ts';
import { mapSubschemas } from '../environment/json-schema-walk.ts';

/**
 * The schema with the bounds of safe integers, which environments leave out of their lists and check all the same. An
 * integer beyond them has lost digits when its JSON was read. Bounds that the schema has itself stay.
 */
export function withSafeIntegers(schema: JsonSchema): JsonSchema {
  const known = bounded.get(schema);
  if (known !== undefined) return known;
  const made = bound(schema);
  bounded.set(schema, made);
  return made;
}

/** A schema is compiled once for each object that it is. */
const bounded = new WeakMap<JsonSchema, JsonSchema>();

function bound(schema: JsonSchema): JsonSchema {
  const inner = mapSubschemas(schema, bound);
  if (![schema.type].flat().includes('integer')) return inner;
  return {
    ...('exclusiveMaximum' in schema ? {} : { maximum: Number.MAX_SAFE_INTEGER }),
    ...('exclusiveMinimum' in schema ? {} : { minimum: Number.MIN_SAFE_INTEGER }),
    ...inner,
  };
}
