import type { JsonSchema } from '../../contract/json.ts';
import { mapSubschemas } from '../authoring/schema/json-schema-walk.ts';

/**
 * Adds the bounds of safe integers to a schema. Environments leave these bounds out of their lists but check them. A
 * larger integer has lost digits when its JSON was parsed. Bounds in the schema itself are kept.
 */
export function withSafeIntegers(schema: JsonSchema): JsonSchema {
  const known = bounded.get(schema);
  if (known !== undefined) return known;
  const made = bound(schema);
  bounded.set(schema, made);
  return made;
}

/** Schemas with bounds, cached by the original object, because a validator is compiled once for each schema object. */
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
