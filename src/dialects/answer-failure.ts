import { isJsonObject, type Json } from '../contract/json.ts';

/**
 * Why no response could be put together from an answer: it `answered` with an error (`error` is what it sent), or the
 * answer was `lost` on its way. Its message is the gateway's own text, not yet fit to be shown.
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

/** The failure that an error object tells. */
export function toAnswerFailure(error: Json): AnswerFailure {
  const { message }: { readonly message?: Json } = isJsonObject(error) ? error : { message: error };
  return new AnswerFailure('answered', typeof message === 'string' ? message : JSON.stringify(error), error);
}
