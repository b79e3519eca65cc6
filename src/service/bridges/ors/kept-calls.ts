import { randomUUID } from 'node:crypto';

/** Milliseconds that the result of a call stays available for a client that reconnects. */
const KEPT_MS = 60_000;
/** Most characters of cached results, of all sessions together. */
const MAX_CHARACTERS = 128 * 1024 * 1024;

/** A call whose result a client may ask for. */
export interface OrsCall {
  readonly id: string;
  /** Events with the result of the call. Never rejects. */
  readonly events: Promise<string>;
}

/** Running and recent calls, by episode and id. */
export class ResponseCache {
  readonly #maxCharacters: number;
  readonly #calls = new Map<string, OrsCall>();
  /** Characters of each finished call, the oldest first. */
  readonly #ended = new Map<string, number>();
  #characters = 0;

  /** @param maxCharacters size of the cache; beyond it the oldest results are dropped early. */
  constructor(maxCharacters = MAX_CHARACTERS) {
    this.#maxCharacters = maxCharacters;
  }

  /** Adds a running call. It stays until one minute after its end. @param events never rejects. */
  add(traceId: string, events: Promise<string>): OrsCall {
    const call = { id: randomUUID().replaceAll('-', ''), events };
    const key = toKey(traceId, call.id);
    this.#calls.set(key, call);
    void events.then((text) => this.#keep(key, text.length));
    return call;
  }

  /** Undefined for an id that is unknown, expired or of another episode. */
  find(traceId: string, id: string): OrsCall | undefined {
    return this.#calls.get(toKey(traceId, id));
  }

  #keep(key: string, characters: number): void {
    this.#ended.set(key, characters);
    this.#characters += characters;
    setTimeout(() => this.#drop(key), KEPT_MS).unref();
    for (const oldest of this.#ended.keys()) {
      if (this.#characters <= this.#maxCharacters) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#characters -= this.#ended.get(key) ?? 0;
    this.#ended.delete(key);
    this.#calls.delete(key);
  }
}

/** Neither id contains a blank. */
function toKey(traceId: string, id: string): string {
  return `${traceId} ${id}`;
}
