import type { Json, JsonObject } from '../../contract/json.ts';

/** A field by its name, or as Google's servers also take it: `system_instruction` for `systemInstruction`. */
export function fieldOf(object: JsonObject, name: string): Json | undefined {
  return object[name] ?? object[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}
