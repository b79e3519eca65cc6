import type { Json, JsonObject } from '../../../contract/json.ts';

/** Reads a field by its name or its snake-case form, which Google's servers also accept (`system_instruction`). */
export function fieldOf(object: JsonObject, name: string): Json | undefined {
  return object[name] ?? object[name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)];
}
