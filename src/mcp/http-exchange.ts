import type { ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { EventStream } from './event-stream.ts';
import { type Refusal, sendRefusal, toErrorReply } from './http-refusal.ts';

type RequestId = string | number;
type Reply = JSONRPCMessage & { readonly id: RequestId };

export interface ExchangeOptions {
  /** The client's ids of the requests in the body. */
  readonly ids: readonly RequestId[];
  /** True for a JSON-RPC batch, which is answered with an array. */
  readonly isBatch: boolean;
  readonly headOf: HeadOf;
}

/** Status and headers of the answer: to one reply, or (undefined) to a batch or as an event stream, which is a 200. */
export type HeadOf = (reply: JSONRPCMessage | undefined) => {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
};

/** One POST and its answer: JSON, or an event stream from the first message on that is not a reply. */
export class HttpExchange {
  readonly #response: ServerResponse;
  readonly #options: ExchangeOptions;
  readonly #replies: Reply[] = [];
  #open: number;
  #stream: EventStream | undefined;

  constructor(response: ServerResponse, options: ExchangeOptions) {
    this.#response = response;
    this.#options = options;
    this.#open = options.ids.length;
  }

  /** Sends a notification or a request that belongs to a request of this POST. */
  async send(message: JSONRPCMessage): Promise<void> {
    const isFirst = this.#stream === undefined;
    this.#stream ??= new EventStream(this.#response, this.#options.headOf(undefined).headers);
    if (isFirst) for (const reply of this.#replies.splice(0)) await this.#stream.send(reply);
    // Progress is worth nothing late: a client that does not read must not fill this process's memory with it.
    if ('method' in message && message.method === 'notifications/progress' && this.#stream.isBehind) return;
    await this.#stream.send(message);
  }

  async reply(reply: Reply): Promise<void> {
    this.#open -= 1;
    if (this.#stream === undefined) this.#replies.push(reply);
    else await this.#stream.send(reply);
    if (this.#open > 0) return;
    if (this.#stream === undefined) this.#sendJson();
    else this.#stream.end();
  }

  /** A request that was cancelled gets no reply. */
  skip(): void {
    this.#open -= 1;
    if (this.#open > 0) return;
    if (this.#stream === undefined && this.#replies.length > 0) this.#sendJson();
    else (this.#stream ?? new EventStream(this.#response, this.#options.headOf(undefined).headers)).end();
  }

  /** Gives up one request: with the refusal as the whole answer, or as its reply on a stream that has begun. */
  abandon(refusal: Refusal): void {
    this.#open -= 1;
    const stream = this.#stream;
    if (stream === undefined) sendRefusal(this.#response, refusal);
    else void stream.send(toErrorReply(refusal));
    if (this.#open === 0) stream?.end();
  }

  #sendJson(): void {
    if (this.#response.destroyed) return;
    const { isBatch, headOf } = this.#options;
    const [first] = this.#replies;
    const { status = 200, headers } = headOf(isBatch ? undefined : first);
    const body = JSON.stringify(isBatch ? this.#replies : first);
    this.#response.writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...headers,
    });
    this.#response.end(body);
  }
}
