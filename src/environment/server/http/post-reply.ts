import type { ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import type { RequestId } from '../json-rpc.ts';
import type { RequestHeaders } from '../param-headers.ts';
import type { Refusal } from '../refusal.ts';
import type { EventLog } from './event-log.ts';
import { EventStream } from './event-stream.ts';
import type { ResumableStream } from './resumable-stream.ts';
import { sendRefusal, toErrorReply } from './send-refusal.ts';

type Reply = JSONRPCMessage & { readonly id: RequestId };

export interface PostReplyOptions {
  /** True for a JSON-RPC batch, whose answer is an array. */
  readonly isBatch: boolean;
  readonly headOf: HeadOf;
  /** Returns the log that keeps the events of the reply's stream for a client that reconnects. */
  readonly openLog?: (() => EventLog) | undefined;
  /** The session of this log, if the client may reconnect for the rest of a stream. */
  readonly resumableIn?: { readonly protocol: string } | undefined;
}

/**
 * Status and headers of the answer: to one reply, or (undefined) to a batch or an event stream, which has status 200.
 */
export type HeadOf = (reply: JSONRPCMessage | undefined) => {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The answer to one POST. It is JSON, or becomes an event stream with the first message that is not a reply. */
export class PostReply {
  readonly #response: ServerResponse;
  readonly #options: PostReplyOptions;
  readonly #replies: Reply[] = [];
  /** Number of requests in the POST that have no reply yet. */
  #open = 0;
  #awaiting: NodeJS.Timeout | undefined;
  #stream: EventStream | ResumableStream | undefined;

  constructor(response: ServerResponse, options: PostReplyOptions) {
    this.#response = response;
    this.#options = options;
  }

  /** Adds one more request to wait for. Call it for all requests before the first reply. */
  expect(): void {
    this.#open += 1;
  }

  /** The HTTP headers of the POST. */
  get requestHeaders(): RequestHeaders {
    return this.#response.req.headers;
  }

  /** Sends a notification or a request that belongs to a request of this POST. */
  async send(message: JSONRPCMessage): Promise<void> {
    const isFirst = this.#stream === undefined;
    this.#stream ??= this.#openStream();
    if (isFirst) for (const reply of this.#replies.splice(0)) await this.#stream.send(reply);
    if (this.#stream.hasRoomFor(message)) await this.#stream.send(message);
  }

  /** True if the answer is sent on this stream. */
  isAnsweredOn(stream: ResumableStream): boolean {
    return this.#stream === stream;
  }

  /** True if the client can reconnect for the rest after it loses the connection. */
  get isResumable(): boolean {
    return this.#stream !== undefined && this.#options.resumableIn !== undefined;
  }

  get isConnected(): boolean {
    return this.#stream === undefined ? !this.#response.destroyed : this.#stream.isOpen;
  }

  /** Waits some milliseconds for a client that has lost the stream. If it does not reconnect, `giveUp` is called. */
  awaitClient(timeMs: number, giveUp: () => void): void {
    clearTimeout(this.#awaiting);
    this.#awaiting = setTimeout(() => {
      if (this.isConnected) return;
      giveUp();
      this.#stream?.end();
    }, timeMs);
    this.#awaiting.unref();
  }

  async reply(reply: Reply): Promise<void> {
    this.#open -= 1;
    if (this.#stream === undefined) this.#replies.push(reply);
    else await this.#stream.send(reply);
    if (this.#open > 0) return;
    if (this.#stream === undefined) this.#sendJson();
    else this.#stream.end();
  }

  /** Removes a cancelled request, which gets no reply. */
  skip(): void {
    this.#open -= 1;
    if (this.#open > 0) return;
    if (this.#stream === undefined && this.#replies.length > 0) this.#sendJson();
    else (this.#stream ?? new EventStream(this.#response, this.#options.headOf(undefined).headers)).end();
  }

  /** Ends one request with a refusal: as the whole answer, or as its reply if a stream has begun. */
  abandon(refusal: Refusal): void {
    this.#open -= 1;
    const stream = this.#stream;
    if (stream === undefined) sendRefusal(this.#response, refusal);
    else void stream.send(toErrorReply(refusal));
    if (this.#open === 0) stream?.end();
  }

  #openStream(): EventStream | ResumableStream {
    const { headOf, openLog, resumableIn } = this.#options;
    const { headers = {} } = headOf(undefined);
    return openLog === undefined || resumableIn === undefined
      ? new EventStream(this.#response, headers)
      : openLog().openStream(this.#response, headers, resumableIn.protocol);
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
