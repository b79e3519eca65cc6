import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import { PRINTED_METHOD } from '../../contract/host.ts';
import { LineSplitter } from '../../runtime/line-splitter.ts';

/** Characters. A longer line is cut. */
const MAX_LINE_LENGTH = 8 * 1024;
/** Bytes that a peer has not read, beyond which lines are dropped: code that prints without end must not fill the memory. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Sends the lines that the code of one session prints over the connection of that session, to its starter. */
export class PrintedLines {
  readonly #socket: Socket;
  #splitter: LineSplitter | undefined;
  #decoder: StringDecoder | undefined;
  #dropped = 0;
  #isEnded = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** False where nobody takes it: it has ended, or the connection has. */
  push(chunk: string | Uint8Array): boolean {
    if (this.#isEnded || !this.#socket.writable) return false;
    this.#splitter ??= new LineSplitter(MAX_LINE_LENGTH, (line) => this.#send(line));
    this.#splitter.push(typeof chunk === 'string' ? chunk : this.#decode(chunk));
    return true;
  }

  /** Sends what is left of a last line. Called once the code of the session is done. */
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
