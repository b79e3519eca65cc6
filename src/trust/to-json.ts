import type { Json } from '../contract/json.ts';

/** A value of an event or a trace, which is JSON, although the types of content blocks and of optional members say less. */
export function toJson(value: unknown): Json {
  return value as Json;
}
