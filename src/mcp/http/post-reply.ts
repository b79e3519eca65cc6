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
  /** True for a JSON-RPC batch, which is answered with an array. */
  readonly isBatch: boolean;
  readonly headOf: HeadOf;
  /** The log that keeps its stream, should it become one, for a client that loses the connection. Made when it is asked for. */
  readonly openLog?: (() => EventLog) | undefined;
  /** The session of such a log. */
  readonly resumableIn?: { readonly protocol: string } | undefined;
}

/** Status and headers of the answer: to one reply, or (undefined) to a batch or as an event stream, which is a 200. */
export type HeadOf = (reply: JSONRPCMessage | undefined) => {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The answer to one POST: JSON, or an event stream from the first message on that is not a reply. */
export class PostReply {
  readonly #response: ServerResponse;
  readonly #options: PostReplyOptions;
  readonly #replies: Reply[] = [];
  /** Requests of the POST that wait for their reply. */
  #open = 0;
  #awaiting: NodeJS.Timeout | undefined;
  #stream: EventStream | ResumableStream | undefined;

  constructor(response: ServerResponse, options: PostReplyOptions) {
    this.#response = response;
    this.#options = options;
  }

  /** Waits for the reply to one more request. Called for all of them before the first reply. */
  expect(): void {
    this.#open += 1;
  }

  /** Headers of the POST. */
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

  /** True where its answer goes out on this stream. */
  isAnsweredOn(stream: ResumableStream): boolean {
    return this.#stream === stream;
  }

  /** True where the client has been told how to come back for the rest should it lose the connection. */
  get isResumable(): boolean {
    return this.#stream !== undefined && this.#options.resumableIn !== undefined;
  }

  get isConnected(): boolean {
    return this.#stream === undefined ? !this.#response.destroyed : this.#stream.isOpen;
  }

  /** Gives a client that has lost the stream some time (milliseconds) to come back; without it `giveUp` is called. */
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
