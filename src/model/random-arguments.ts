import { isJsonObject, type JsonObject, type JsonSchema } from '../contract/json.ts';
import { validateJsonSchema } from '../schema/json-schema.ts';
import { SchemaDraw } from './schema-draw.ts';
import type { SeededRandom } from './seeded-random.ts';

const MAX_DRAWS = 50;

/**
 * Arguments that a tool's schema allows, made by chance: drawn from what the schema says, and drawn again where it says
 * more than is understood here (a `pattern`, a `not`).
 *
 * @returns undefined when no draw was valid.
 */
export function randomArguments(schema: JsonSchema, random: SeededRandom): JsonObject | undefined {
  const choices = { ...random, leastLength: 1 } as const;
  try {
    for (let draw = 0; draw < MAX_DRAWS; draw += 1) {
      const value = new SchemaDraw(schema, choices).value({ type: 'object', ...schema }, 0);
      if (isJsonObject(value) && validateJsonSchema(schema, value).length === 0) return value;
    }
  } catch {
    // A schema that cannot be compiled allows nothing.
  }
  return undefined;
}
