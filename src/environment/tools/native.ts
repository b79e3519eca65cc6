import type { JsonObject } from '../../contract/json.ts';

/** Key of `_meta` of a tool that names the types of providers which the tool stands for. */
export const NATIVE_META = 'proctor/native';

export interface NativeTypes {
  readonly role: string;
  /** Type in requests of Anthropic Messages, such as `bash_20250124`. */
  readonly anthropic?: string;
  /** Type in requests of OpenAI Responses, such as `shell`. */
  readonly openai?: string;
}

/** `_meta` of a tool that a provider knows as a type of its own. */
export function nativeMeta(types: NativeTypes): JsonObject {
  return { [NATIVE_META]: { ...types } };
}
