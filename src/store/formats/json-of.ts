import type { JsonObject } from '../../contract/json.ts';

/** Types a line of JSON values as a JSON object. */
export function jsonOf(line: object): JsonObject {
  return line as JsonObject;
}
