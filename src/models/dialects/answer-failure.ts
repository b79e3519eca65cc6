import { isJsonObject, type Json } from '../../contract/json.ts';

/** Largest response in bytes after decompression. No model's answer is larger. */
export const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** Largest event of a stream in bytes, and longest line in characters. No piece of a response is larger. */
export const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/**
 * The reason why an answer gave no response: the gateway `answered` with an error (`error` has it), or the answer was
 * `lost` on its way. The message is the gateway's own text and must be cleaned before it is shown.
 */
export class AnswerFailure extends Error {
  override readonly name = 'AnswerFailure';
  readonly kind: 'answered' | 'lost';
  readonly error: Json;

  constructor(kind: 'answered' | 'lost', message: string, error: Json = message) {
    super(message);
    this.kind = kind;
    this.error = error;
  }
}

/** Makes the failure from a gateway's error object. */
export function toAnswerFailure(error: Json): AnswerFailure {
  const { message }: { readonly message?: Json } = isJsonObject(error) ? error : { message: error };
  return new AnswerFailure('answered', typeof message === 'string' ? message : JSON.stringify(error), error);
}
