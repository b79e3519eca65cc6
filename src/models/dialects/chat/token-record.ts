import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';

/** Message fields that this record reads. They are not sent back to the gateway. */
export const TOKEN_FIELDS: ReadonlySet<string> = new Set([
  'token_ids',
  'prompt_token_ids',
  'generation_token_ids',
  'logprobs',
  'generation_log_probs',
]);

/**
 * Token ids and log probabilities of one response. Servers put them on the response (vLLM's prompt), on the choice
 * (vLLM, SGLang) or on the message (NeMo). All three are read, and the first one in a chunk counts.
 */
export class TokenRecord {
  #prompt: Json[] | null = null;
  #completion: Json[] | null = null;
  #content: Json[] | null = null;
  #refusal: Json[] | null = null;

  /** Reads one chunk. `places` are its choice, the choice's delta or message, and the chunk itself. */
  add(places: readonly JsonObject[]): void {
    this.#prompt ??= firstArray(places, 'prompt_token_ids');
    this.#completion = joined(
      this.#completion,
      firstArray(places, 'token_ids') ?? firstArray(places, 'generation_token_ids'),
    );
    const logprobs = places.map((place) => place.logprobs).find(isJsonObject);
    this.#content = joined(this.#content, arrayOf(logprobs?.content) ?? firstArray(places, 'generation_log_probs'));
    this.#refusal = joined(this.#refusal, arrayOf(logprobs?.refusal));
  }

  /** `{prompt, completion}`, each a list or null; null if the gateway sent neither. */
  get tokenIds(): Json {
    if (this.#prompt === null && this.#completion === null) return null;
    return { prompt: this.#prompt, completion: this.#completion };
  }

  /** `{content, refusal}` in OpenAI's format, each a list or null; null if the gateway sent neither. */
  get logprobs(): Json {
    if (this.#content === null && this.#refusal === null) return null;
    return { content: this.#content, refusal: this.#refusal };
  }
}

function firstArray(places: readonly JsonObject[], field: string): Json[] | null {
  for (const place of places) {
    const values = arrayOf(place[field]);
    if (values !== null) return values;
  }
  return null;
}

function arrayOf(value: Json | undefined): Json[] | null {
  return Array.isArray(value) ? value : null;
}

function joined(before: Json[] | null, more: Json[] | null): Json[] | null {
  if (more === null) return before;
  if (before === null) return [...more];
  for (const value of more) before.push(value);
  return before;
}
