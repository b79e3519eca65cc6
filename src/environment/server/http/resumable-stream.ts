import type { ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { EventStream } from './event-stream.ts';

/** Milliseconds after which a client should reconnect for the rest of a stream. */
const RETRY_MS = 1_000;

/** Keeps the events that streams send. */
export interface StreamLog {
  add(stream: ResumableStream, sequence: number, text: string): void;
  /** Called at the end of a stream. The log forgets the stream with its last event. */
  ended(stream: ResumableStream): void;
}

/**
 * An event stream that outlives its connection. Its events have ids, and a client that reconnects gets the missed ones.
 */
export class ResumableStream {
  readonly number: number;
  /** The newest event of this stream that the log has dropped. The log sets it. */
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

  /** True if the message is to be sent, or kept for a client that may reconnect. */
  hasRoomFor(message: JSONRPCMessage): boolean {
    if (this.isOpen) return this.#connection.hasRoomFor(message);
    return !('method' in message && message.method === 'notifications/progress');
  }

  /** Sends a message. Resolves when the client can take more, or has disconnected. */
  async send(message: object): Promise<void> {
    if (this.#isEnded) return;
    this.#lastSequence += 1;
    const text = `id: ${this.number}-${this.#lastSequence}\nevent: message\ndata: ${JSON.stringify(message)}\n\n`;
    this.#log.add(this, this.#lastSequence, text);
    await this.#connection.write(text);
  }

  /** Continues on another connection and first sends the missed events there. */
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
