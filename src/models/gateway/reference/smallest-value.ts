import type { Json, JsonSchema } from '../../../contract/json.ts';
import { validateJsonSchema } from '../../../support/schema/json-schema.ts';
import { type Choices, SchemaDraw } from './schema-draw.ts';

/** Most alternatives that are tried, in order. */
const MAX_ALTERNATIVES = 10;

/**
 * The smallest value that fits a schema: the shortest text, the number nearest to zero, the fewest items, only required
 * properties, the first of several choices. Examples and defaults are used if nothing else fits, as with a `pattern`.
 *
 * @returns undefined if no value was found.
 */
export function smallestValue(schema: JsonSchema): Json | undefined {
  try {
    for (const takesExamples of [false, true]) {
      for (let index = 0; index < MAX_ALTERNATIVES; index += 1) {
        const value = new SchemaDraw(schema, leastChoices(index, takesExamples)).value(schema, 0);
        if (validateJsonSchema(schema, value).length === 0) return value;
      }
    }
  } catch {
    // No value fits a schema that cannot be compiled.
  }
  return undefined;
}

function leastChoices(index: number, takesExamples: boolean): Choices {
  return {
    leastLength: 0,
    next: () => 0,
    integer: (least, most) => Math.min(Math.max(0, least), most),
    pick: <T>(list: readonly T[]) => list[index % list.length] as T,
    chance: () => takesExamples,
  };
}
