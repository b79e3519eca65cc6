import { createParser } from 'eventsource-parser';
import { GatewayFailure } from '../gateway-failure.ts';
import { MAX_EVENT_BYTES, MAX_RESPONSE_BYTES } from '../response-limits.ts';
import type { StreamReader } from './dialect.ts';
import type { ModelDelta, ModelOutput } from './model-output.ts';

/** Builds one response from the events of a stream. */
export interface EventAssembly {
  /**
   * @param data JSON of an event; undefined for `[DONE]`.
   * @returns true from the event on that tells an agent that the answer is complete.
   * @throws GatewayFailure for an error in place of the rest.
   */
  add(data: unknown): boolean;
  /** Builds the response. @throws GatewayFailure if the answer is incomplete. */
  finish(): ModelOutput;
}

/**
 * Reads a stream of server-sent events and passes its bytes on unchanged, event by event. It holds back the event that
 * ends the answer, and all later ones, until the response is stored.
 */
export class EventTap implements StreamReader {
  onDelta?: (delta: ModelDelta) => void;
  readonly #assembly: EventAssembly;
  readonly #decoder = new TextDecoder();
  #size = 0;
  /** Pieces of an incomplete event. */
  #begun: Uint8Array[] = [];
  #begunSize = 0;
  readonly #held: Uint8Array[] = [];
  #isOver = false;
  #failure: GatewayFailure | undefined;
  readonly #parser = createParser({ onEvent: ({ data }) => this.#take(data) });

  /** @param createAssembly makes the assembly. Its argument must be called with each piece of text. */
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
    // Most pieces of a large event have no line end. Searching them again with each piece would be slow.
    return bytes.includes(LF) ? this.#takeWhole(Buffer.concat(this.#begun)) : NOTHING;
  }

  /** Reads the complete events. @returns the bytes that may be passed on. */
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
    // The last event counts even without an empty line after it.
    this.#parser.feed(`${this.#decoder.decode(Buffer.concat(this.#begun))}\n\n`);
    if (this.#failure !== undefined) throw this.#failure;
    return this.#assembly.finish();
  }

  #take(data: string): void {
    if (this.#failure !== undefined) return;
    try {
      if (this.#assembly.add(parseData(data))) this.#isOver = true;
    } catch (thrown) {
      if (!(thrown instanceof GatewayFailure)) throw thrown;
      // The agent gets the error at its place in the stream, with everything after it.
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
    throw new GatewayFailure('lost', 'the reply holds what is not JSON, as if it had been cut');
  }
}

function tooLarge(message: string): GatewayFailure {
  return new GatewayFailure('answered', message);
}

/** Index after the empty line that ends the event at `start`; -1 if the event is incomplete. */
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
