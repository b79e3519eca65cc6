import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import { PRINTED_METHOD } from '../../../contract/host.ts';
import { LineSplitter } from '../../../support/runtime/line-splitter.ts';

/** Maximum number of characters. A longer line is cut. */
const MAX_LINE_LENGTH = 8 * 1024;
/** Maximum number of unread bytes. Beyond it lines are dropped, so that endless output does not fill the memory. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Sends the lines that the code of one session prints to the session's starter, over its connection. */
export class PrintedLines {
  readonly #socket: Socket;
  #splitter: LineSplitter | undefined;
  #decoder: StringDecoder | undefined;
  #dropped = 0;
  #isEnded = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Returns false if the session or its connection has ended. */
  push(chunk: string | Uint8Array): boolean {
    if (this.#isEnded || !this.#socket.writable) return false;
    this.#splitter ??= new LineSplitter(MAX_LINE_LENGTH, (line) => this.#send(line));
    this.#splitter.push(typeof chunk === 'string' ? chunk : this.#decode(chunk));
    return true;
  }

  /** Sends the rest of an unfinished line. Call it when the code of the session is done. */
  end(): void {
    this.#splitter?.end();
    if (this.#dropped > 0) this.#write(describeDropped(this.#dropped));
    this.#isEnded = true;
  }

  #decode(chunk: Uint8Array): string {
    this.#decoder ??= new StringDecoder('utf8');
    return this.#decoder.write(Buffer.from(chunk));
  }

  #send(line: string): void {
    if (line === '') return;
    if (this.#socket.writableLength > MAX_UNREAD_BYTES) {
      this.#dropped += 1;
      return;
    }
    const dropped = this.#dropped;
    this.#dropped = 0;
    if (dropped > 0) this.#write(describeDropped(dropped));
    this.#write(line);
  }

  #write(line: string): void {
    if (!this.#socket.writable) return;
    this.#socket.write(`${JSON.stringify({ jsonrpc: '2.0', method: PRINTED_METHOD, params: { line } })}\n`);
  }
}

function describeDropped(count: number): string {
  return `${count} printed lines were dropped, because they were not read in time`;
}
