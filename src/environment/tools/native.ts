import type { JsonObject } from '../../contract/json.ts';

/** Key in a tool's `_meta` that names the types under which providers know the tool. */
export const NATIVE_META = 'proctor/native';

/** Types of tools that providers define themselves, and that their models were trained with. */
export interface NativeTypes {
  readonly anthropic?: string;
  readonly openai?: string;
  readonly gemini?: string;
}

/** `_meta` of a tool that providers know. */
export function nativeMeta(role: string, types: NativeTypes, more: JsonObject = {}): JsonObject {
  return { [NATIVE_META]: { role, ...types, ...more } };
}
