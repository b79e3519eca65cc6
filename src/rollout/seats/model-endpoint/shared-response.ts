import type { ServerResponse } from 'node:http';
import type { ErrorReply } from '../../../models/dialects/dialect.ts';
import { sendReply } from '../../../support/http/reply/send-reply.ts';
import { letGoWhenStalled } from '../../../support/http/stalled-client.ts';

/** Milliseconds for a disconnected client to come back before its call is cancelled. */
const HANG_UP_GRACE_MS = 2_000;

interface Reader {
  readonly response: ServerResponse;
  write: ((piece: string | Uint8Array) => boolean) | undefined;
}

/**
 * One model call of an agent, shared by the request that started it and by repeats of that request. It stays open for a
 * moment without a client.
 */
export class SharedResponse {
  readonly #isStreamed: boolean;
  readonly #pieces: (string | Uint8Array)[] = [];
  readonly #readers = new Set<Reader>();
  readonly #abandoned = new AbortController();
  #size = 0;
  #state: 'open' | 'answered' | 'failed' = 'open';
  #wasRead = false;
  #grace: NodeJS.Timeout | undefined;

  constructor(isStreamed: boolean) {
    this.#isStreamed = isStreamed;
  }

  get state(): 'open' | 'answered' | 'failed' {
    return this.#state;
  }

  /** True once a client has received the whole answer. */
  get wasRead(): boolean {
    return this.#wasRead;
  }

  /** True if part of a stream was sent, so that the status cannot change any more. */
  get isBegun(): boolean {
    return this.#isStreamed && this.#pieces.length > 0;
  }

  /** Size of the answer in bytes or characters. */
  get size(): number {
    return this.#size;
  }

  /** Aborted when all clients have left and none came back in time. */
  get abandoned(): AbortSignal {
    return this.#abandoned.signal;
  }

  /** Answers a request with this call: with the pieces so far at once, and then with each new piece. */
  join(response: ServerResponse): void {
    clearTimeout(this.#grace);
    const reader: Reader = { response, write: undefined };
    this.#readers.add(reader);
    response.once('close', () => this.#leave(reader));
    if (response.destroyed) {
      this.#leave(reader);
      return;
    }
    if (this.#isStreamed) for (const piece of this.#pieces) write(reader, piece);
    if (this.#state === 'answered') this.#end(reader);
  }

  /** Sends a piece of a stream to all clients. */
  send(piece: string | Uint8Array): void {
    if (piece.length === 0 || this.#state !== 'open') return;
    this.#pieces.push(piece);
    this.#size += piece.length;
    for (const reader of this.#readers) write(reader, piece);
  }

  /** Ends the response with the rest of a stream, or with the whole answer if it is not streamed. */
  answer(rest: string | Uint8Array): void {
    if (this.#state !== 'open') return;
    if (this.#isStreamed) this.send(rest);
    else {
      this.#pieces.push(rest);
      this.#size += rest.length;
    }
    this.#state = 'answered';
    for (const reader of this.#readers) this.#end(reader);
  }

  /** Ends the response with an error. @param last makes the last piece if a stream has begun. */
  fail(reply: ErrorReply, last: () => string): void {
    if (this.#state !== 'open') return;
    const isBegun = this.isBegun;
    if (isBegun) this.send(last());
    this.#state = 'failed';
    clearTimeout(this.#grace);
    for (const { response } of this.#readers) {
      if (isBegun) response.end();
      else sendReply(response, reply);
    }
  }

  #end(reader: Reader): void {
    const { response } = reader;
    if (this.#isStreamed) {
      if (reader.write === undefined) begin(reader);
      response.end();
    } else {
      sendReply(response, { headers: { 'content-type': 'application/json; charset=utf-8' }, body: this.#pieces[0] });
    }
  }

  #leave(reader: Reader): void {
    if (!this.#readers.delete(reader)) return;
    if (reader.response.writableFinished) this.#wasRead = true;
    if (this.#readers.size > 0 || this.#state !== 'open') return;
    this.#grace = setTimeout(() => this.#abandoned.abort(new Error('The client hung up')), HANG_UP_GRACE_MS);
    this.#grace.unref();
  }
}

function begin(reader: Reader): void {
  const { response } = reader;
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-store' });
  reader.write = letGoWhenStalled(response);
}

function write(reader: Reader, piece: string | Uint8Array): void {
  if (reader.response.destroyed) return;
  if (reader.write === undefined) begin(reader);
  reader.write?.(piece);
}
