import type { ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { EventStream } from './event-stream.ts';

/** Milliseconds after which a client should come back for the rest of a stream. */
const RETRY_MS = 1_000;

/** Keeps what streams send. */
export interface StreamLog {
  add(stream: ResumableStream, sequence: number, text: string): void;
  /** No more comes on this stream: it is forgotten with its last event. */
  ended(stream: ResumableStream): void;
}

/** An event stream that outlives its connection: its events have ids, and a client that comes back is sent what it missed. */
export class ResumableStream {
  readonly number: number;
  /** Set by the log: the newest event of this stream that it no longer has. */
  lostUpTo = 0;
  readonly #log: StreamLog;
  #connection: EventStream;
  #lastSequence = 0;
  #isEnded = false;

  constructor(number: number, connection: EventStream, log: StreamLog, isPrimed: boolean) {
    this.number = number;
    this.#connection = connection;
    this.#log = log;
    if (isPrimed) void connection.write(`id: ${number}-0\nretry: ${RETRY_MS}\ndata: \n\n`);
  }

  get isOpen(): boolean {
    return this.#connection.isOpen;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  get lastSequence(): number {
    return this.#lastSequence;
  }

  /** True for what is to be sent, or kept for a client that may come back. */
  hasRoomFor(message: JSONRPCMessage): boolean {
    if (this.isOpen) return this.#connection.hasRoomFor(message);
    return !('method' in message && message.method === 'notifications/progress');
  }

  /** Resolves when the client may be sent more, or is gone. */
  async send(message: object): Promise<void> {
    if (this.#isEnded) return;
    this.#lastSequence += 1;
    const text = `id: ${this.number}-${this.#lastSequence}\nevent: message\ndata: ${JSON.stringify(message)}\n\n`;
    this.#log.add(this, this.#lastSequence, text);
    await this.#connection.write(text);
  }

  /** Goes on with another connection, which is sent first what the last one did not bring. */
  resume(response: ServerResponse, headers: Readonly<Record<string, string>>, missed: string): void {
    this.#connection.end();
    this.#connection = new EventStream(response, headers);
    if (missed !== '') void this.#connection.write(missed);
    if (this.#isEnded) this.#connection.end();
  }

  end(): void {
    this.#isEnded = true;
    this.#connection.end();
    this.#log.ended(this);
  }
}
