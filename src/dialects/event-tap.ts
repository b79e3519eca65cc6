import { createParser } from 'eventsource-parser';
import { AnswerFailure } from './answer-failure.ts';
import type { StreamReader } from './dialect.ts';
import type { ModelDelta, ModelOutput } from './model-output.ts';

/** Puts one response together from the events of a stream. */
export interface EventAssembly {
  /**
   * @param data JSON of an event; undefined for `[DONE]`.
   * @returns true from the event on by which an agent can know that the answer is whole.
   * @throws AnswerFailure for an error in place of the rest.
   */
  add(data: unknown): boolean;
  /** @throws AnswerFailure where the answer is not whole. */
  finish(): ModelOutput;
}

/** Characters of one event: a longer one is none of a response. */
const MAX_EVENT_BYTES = 8 * 1024 * 1024;
/** Bytes of one response: more is no answer of a model, and would only fill the memory. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;

/**
 * Reads along a stream of server-sent events and hands its bytes on, event by event and as they are, up to the event by
 * which the answer ends. That one and what follows stay here until the response is stored.
 */
export class EventTap implements StreamReader {
  onDelta?: (delta: ModelDelta) => void;
  readonly #assembly: EventAssembly;
  readonly #decoder = new TextDecoder();
  #size = 0;
  /** Bytes of an event that is not whole, in the pieces in which they came. */
  #begun: Uint8Array[] = [];
  #begunSize = 0;
  readonly #held: Uint8Array[] = [];
  #isOver = false;
  #failure: AnswerFailure | undefined;
  readonly #parser = createParser({ onEvent: ({ data }) => this.#take(data) });

  /** @param createAssembly is given what is called with each piece of text. */
  constructor(createAssembly: (onDelta: (delta: ModelDelta) => void) => EventAssembly) {
    this.#assembly = createAssembly((delta) => this.onDelta?.(delta));
  }

  get heldBack(): Uint8Array {
    return Buffer.concat([...this.#held, ...this.#begun]);
  }

  add(bytes: Uint8Array): Uint8Array {
    this.#size += bytes.length;
    if (this.#size > MAX_RESPONSE_BYTES) throw tooLarge(`the response is larger than ${MAX_RESPONSE_BYTES} bytes`);
    this.#begun.push(bytes);
    this.#begunSize += bytes.length;
    if (this.#begunSize > MAX_EVENT_BYTES) {
      throw tooLarge(`the reply has an event of more than ${MAX_EVENT_BYTES} bytes`);
    }
    // Most pieces of a large event hold no end of a line: they are not looked through again and again.
    return bytes.includes(LF) ? this.#takeWhole(Buffer.concat(this.#begun)) : NOTHING;
  }

  /** Takes the events that are whole. @returns those of them that may go on. */
  #takeWhole(bytes: Buffer): Uint8Array {
    let at = 0;
    let passed = 0;
    for (let end = endOfEvent(bytes, at); end !== -1; end = endOfEvent(bytes, at)) {
      this.#parser.feed(this.#decoder.decode(bytes.subarray(at, end), { stream: true }));
      if (this.#isOver) this.#held.push(bytes.subarray(at, end));
      else passed = end;
      at = end;
    }
    this.#begun = at < bytes.length ? [bytes.subarray(at)] : [];
    this.#begunSize = bytes.length - at;
    return bytes.subarray(0, passed);
  }

  finish(): ModelOutput {
    // An event that nothing follows counts too.
    this.#parser.feed(`${this.#decoder.decode(Buffer.concat(this.#begun))}\n\n`);
    if (this.#failure !== undefined) throw this.#failure;
    return this.#assembly.finish();
  }

  #take(data: string): void {
    if (this.#failure !== undefined) return;
    try {
      if (this.#assembly.add(parseData(data))) this.#isOver = true;
    } catch (thrown) {
      if (!(thrown instanceof AnswerFailure)) throw thrown;
      // The agent is to see it where it stands: it goes on with what follows.
      this.#failure = thrown;
      this.#isOver = true;
    }
  }
}

function parseData(data: string): unknown {
  if (data.trimStart().startsWith('[DONE]')) return undefined;
  try {
    return JSON.parse(data);
  } catch {
    throw new AnswerFailure('lost', 'the reply holds what is not JSON, as if it had been cut');
  }
}

function tooLarge(message: string): AnswerFailure {
  return new AnswerFailure('answered', message);
}

/** Index after the empty line that ends the event at `start`; -1 where that is not whole. */
function endOfEvent(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf(LF, start); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}

const NOTHING = new Uint8Array();
const LF = 0x0a;
const CR = 0x0d;
