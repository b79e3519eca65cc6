import { isJsonObject, type JsonObject, type JsonSchema } from '../../../contract/json.ts';
import { validateJsonSchema } from '../../../support/schema/json-schema.ts';
import { SchemaDraw } from './schema-draw.ts';
import type { SeededRandom } from './seeded-random.ts';

const MAX_DRAWS = 50;

/**
 * Random arguments that fit a tool's schema. Values are drawn again if they break a rule that the drawing does not
 * understand (a `pattern`, a `not`).
 *
 * @returns undefined if no draw was valid.
 */
export function randomArguments(schema: JsonSchema, random: SeededRandom): JsonObject | undefined {
  const choices = { ...random, leastLength: 1 } as const;
  try {
    for (let draw = 0; draw < MAX_DRAWS; draw += 1) {
      const value = new SchemaDraw(schema, choices).value({ type: 'object', ...schema }, 0);
      if (isJsonObject(value) && validateJsonSchema(schema, value).length === 0) return value;
    }
  } catch {
    // No value fits a schema that cannot be compiled.
  }
  return undefined;
}
