import type { ServerResponse } from 'node:http';
import type { JSONRPCMessage, MessageExtraInfo, Transport, TransportSendOptions } from '@modelcontextprotocol/server';
import type { OpenIds } from '../batches.ts';
import { isNotification, isReply, isRequest, type RequestId } from '../json-rpc.ts';
import type { HeaderSource, RequestHeaders } from '../param-headers.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { EventLog } from './event-log.ts';
import { type HeadOf, PostReply } from './post-reply.ts';
import type { ResumableStream } from './resumable-stream.ts';

/** Milliseconds that a request continues after its client lost the stream, so that the client can reconnect. */
const RESUME_WINDOW_MS = 30_000;

/** An unanswered request, stored under the private id that the SDK sees. */
interface PendingRequest {
  readonly clientId: RequestId;
  readonly answer: PostReply;
}

export interface ReceiveOptions {
  readonly messages: readonly JSONRPCMessage[];
  readonly isBatch: boolean;
  readonly headOf: HeadOf;
  readonly classification?: MessageExtraInfo['classification'];
  /** The session, if a client that loses the stream of the answer may reconnect for the rest. */
  readonly resumableIn?: { readonly protocol: string };
  /** Called with each reply before it is sent. */
  readonly onReply?: (reply: JSONRPCMessage) => void;
}

export interface HttpTransportOptions {
  /** The current time in milliseconds. */
  readonly now: () => number;
  /** Milliseconds that a request continues after its client lost the stream. Default 30,000. */
  readonly resumeWindowMs?: number | undefined;
}

/**
 * The server's end of one session over Streamable HTTP. Every request gets a private id before the SDK sees it, because
 * two callers may use the same id.
 */
export class HttpTransport implements Transport, HeaderSource {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  sessionId?: string;

  readonly #pending = new Map<RequestId, PendingRequest>();
  /** Private ids by the client's ids. Searching `#pending` for each request of a large batch would take minutes. */
  readonly #privateIds = new Map<RequestId, RequestId>();
  /** Ids of the client that are in use. */
  readonly openIds: OpenIds = this.#privateIds;
  readonly #onReply = new Map<RequestId, (reply: JSONRPCMessage) => void>();
  readonly #now: () => number;
  #lastActiveAt: number;
  #nextId = 1;
  readonly #resumeWindowMs: number;
  /** Made with the first stream, because a session without streams keeps no events. */
  #log: EventLog | undefined;
  #stream: ResumableStream | undefined;
  /** Streams of MCP 2026-07-28 that wait for changes. */
  readonly #listening = new Set<{ readonly end: () => void }>();
  #isClosed = false;

  constructor(sessionId: string, { now, resumeWindowMs = RESUME_WINDOW_MS }: HttpTransportOptions) {
    this.sessionId = sessionId;
    this.#now = now;
    this.#resumeWindowMs = resumeWindowMs;
    this.#lastActiveAt = now();
  }

  /** The time of the last start or end of a request or a stream, on the clock that was passed in. */
  get lastActiveAt(): number {
    return this.#lastActiveAt;
  }

  async start(): Promise<void> {}

  /** True while a request or a stream of the client is open. */
  get isBusy(): boolean {
    return this.#pending.size > 0 || this.#stream?.isOpen === true || this.#listening.size > 0;
  }

  /** The HTTP headers of a request by its private id. They may repeat arguments of a call. */
  headersOf(id: RequestId): RequestHeaders | undefined {
    return this.#pending.get(id)?.answer.requestHeaders;
  }

  /** Receives the messages of one POST and answers on `response`. If none is a request, it answers 202 at once. */
  receive(response: ServerResponse, options: ReceiveOptions): void {
    const { messages, isBatch, headOf, classification, resumableIn } = options;
    this.#touch();
    const answer = new PostReply(response, { isBatch, headOf, openLog: this.#openLog, resumableIn });
    const privateIds: RequestId[] = [];
    const deliverable = messages.map((message) => {
      if (!isRequest(message)) return this.#withPrivateTarget(message);
      const id = this.#nextId++;
      privateIds.push(id);
      answer.expect();
      this.#pending.set(id, { clientId: message.id, answer });
      this.#privateIds.set(message.id, id);
      if (options.onReply !== undefined) this.#onReply.set(id, options.onReply);
      return { ...message, id };
    });
    if (privateIds.length === 0) response.writeHead(202, { ...headOf(undefined).headers, 'content-length': 0 }).end();
    else response.once('close', () => this.#lost(privateIds, answer));
    const extra = classification === undefined ? undefined : { classification };
    for (const message of deliverable) if (message !== undefined) this.onmessage?.(message, extra);
  }

  /** Makes `response` the stream for messages that belong to no request. It replaces an older stream. */
  openStream(
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    { protocol }: { readonly protocol: string },
  ): void {
    this.#stream?.end();
    this.#stream = this.#openLog().openStream(response, headers, protocol);
    this.#touch();
    response.once('close', () => this.#touch());
  }

  /** Resumes the stream of an event that the client has received. Returns false if later events are no longer known. */
  resumeStream(response: ServerResponse, headers: Readonly<Record<string, string>>, lastEventId: string): boolean {
    const found = this.#log?.after(lastEventId);
    if (found === undefined) return false;
    const { stream, missed } = found;
    if (stream.isEnded && missed === '') {
      // Status 204 tells the client that nothing more will come, so it does not reconnect again.
      response.writeHead(204, headers).end();
      return true;
    }
    stream.resume(response, headers, missed);
    this.#touch();
    const answered = [...this.#pending].filter(([, { answer }]) => answer.isAnsweredOn(stream));
    const answer = answered[0]?.[1].answer;
    const privateIds = answered.map(([id]) => id);
    response.once('close', () => (answer === undefined ? this.#touch() : this.#lost(privateIds, answer)));
    return true;
  }

  /** Keeps the session in use while the stream is open. The stream ends with the session. */
  listen(response: ServerResponse, listening: { readonly end: () => void }): void {
    this.#listening.add(listening);
    this.#touch();
    response.once('close', () => {
      this.#listening.delete(listening);
      this.#touch();
    });
  }

  /** Number of open streams that wait for changes. */
  get listeningCount(): number {
    return this.#listening.size;
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (this.#isClosed) throw new Error('The session is closed');
    if (isReply(message)) return this.#reply(message);
    const related = options?.relatedRequestId;
    const pending = related === undefined ? undefined : this.#pending.get(related);
    if (pending !== undefined) return pending.answer.send(message);
    // Messages of a finished request are dropped, because progress must not follow the reply.
    const isQuestion = isRequest(message);
    // While the stream has no connection, it keeps notifications for a client that reconnects. A request would wait
    // forever.
    if (related === undefined && this.#stream !== undefined && (this.#stream.isOpen || !isQuestion)) {
      return this.#stream.hasRoomFor(message) ? this.#stream.send(message) : undefined;
    }
    // A notification without a stream is dropped.
    if (isQuestion) throw new Error('The client has no open request or stream for a question');
  }

  /** Ends open streams, and answers open requests with an error. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stream?.end();
    for (const listening of this.#listening) listening.end();
    for (const { clientId, answer } of this.#pending.values()) {
      answer.abandon(new Refusal(404, RPC_CODE.sessionNotFound, 'The session has ended', { id: clientId }));
    }
    this.#pending.clear();
    this.#privateIds.clear();
    this.onclose?.();
  }

  async #reply(reply: JSONRPCMessage & { readonly id?: RequestId | undefined }): Promise<void> {
    const id = reply.id;
    const pending = id === undefined ? undefined : this.#pending.get(id);
    if (id === undefined || pending === undefined) return;
    const onReply = this.#onReply.get(id);
    this.#forget(id);
    onReply?.(reply);
    await pending.answer.reply({ ...reply, id: pending.clientId });
  }

  readonly #openLog = (): EventLog => {
    this.#log ??= new EventLog();
    return this.#log;
  };

  /**
   * Handles a lost connection. If the requests have no other way to their answer, they are cancelled, at once or after
   * the time that the client has to reconnect.
   */
  #lost(privateIds: readonly RequestId[], answer: PostReply): void {
    if (!privateIds.some((id) => this.#pending.has(id)) || answer.isConnected) return;
    const giveUp = () => this.#cancel(privateIds, 'The client has disconnected');
    if (answer.isResumable) answer.awaitClient(this.#resumeWindowMs, giveUp);
    else giveUp();
  }

  /** Cancels requests as the client would. They get no reply. */
  #cancel(privateIds: readonly RequestId[], reason: string): void {
    for (const requestId of privateIds) {
      if (!this.#pending.has(requestId)) continue;
      this.#forget(requestId);
      this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason } });
    }
  }

  /** Replaces the client's id in a cancellation by the private one. Undefined if there is nothing to cancel. */
  #withPrivateTarget(message: JSONRPCMessage): JSONRPCMessage | undefined {
    if (!isNotification(message) || message.method !== 'notifications/cancelled') return message;
    const requestId = this.#privateIds.get(message.params?.requestId as RequestId);
    const pending = requestId === undefined ? undefined : this.#pending.get(requestId);
    if (requestId === undefined || pending === undefined) return undefined;
    this.#forget(requestId);
    pending.answer.skip();
    return { ...message, params: { ...message.params, requestId } };
  }

  #touch(): void {
    this.#lastActiveAt = this.#now();
  }

  #forget(id: RequestId): void {
    this.#touch();
    const clientId = this.#pending.get(id)?.clientId;
    // On MCP 2026-07-28 callers share a session and may use the same id at the same time. Only the newest request is
    // removed under it.
    if (clientId !== undefined && this.#privateIds.get(clientId) === id) this.#privateIds.delete(clientId);
    this.#pending.delete(id);
    this.#onReply.delete(id);
  }
}
