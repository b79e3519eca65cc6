import type { Json } from '../../contract/json.ts';

/** Casts a value of an event or a trace to JSON. It is JSON, although its type is wider. */
export function toJson(value: unknown): Json {
  return value as Json;
}
