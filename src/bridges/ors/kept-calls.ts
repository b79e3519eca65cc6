import { randomUUID } from 'node:crypto';

/** Milliseconds that the result of a call is kept for a client that comes back. */
const KEPT_MS = 60_000;
/** Characters of the results that are kept at a time, of all sessions together. */
const MAX_CHARACTERS = 128 * 1024 * 1024;

/** A call whose result somebody may ask for. */
export interface OrsCall {
  readonly id: string;
  /** Events that hold its result. Never rejects. */
  readonly events: Promise<string>;
}

/** Calls that go on or have ended lately, by their episodes and ids. */
export class KeptCalls {
  readonly #maxCharacters: number;
  readonly #calls = new Map<string, OrsCall>();
  /** Characters of those that have ended, the oldest first. */
  readonly #ended = new Map<string, number>();
  #characters = 0;

  /** @param maxCharacters of the results that are kept; beyond them the oldest are dropped before their time. */
  constructor(maxCharacters = MAX_CHARACTERS) {
    this.#maxCharacters = maxCharacters;
  }

  /** Keeps a call that begins, until a minute after its end. @param events never rejects. */
  add(traceId: string, events: Promise<string>): OrsCall {
    const call = { id: randomUUID().replaceAll('-', ''), events };
    const key = toKey(traceId, call.id);
    this.#calls.set(key, call);
    void events.then((text) => this.#keep(key, text.length));
    return call;
  }

  /** Undefined for an id that is unknown, of another episode, or too old. */
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

/** Neither has a blank. */
function toKey(traceId: string, id: string): string {
  return `${traceId} ${id}`;
}
