import type { JsonObject } from '../contract/json.ts';

/** A line that was made of JSON values alone, as the type of one. */
export function jsonOf(line: object): JsonObject {
  return line as JsonObject;
}
