import type { ServerResponse } from 'node:http';
import type { JSONRPCMessage, MessageExtraInfo, Transport } from '@modelcontextprotocol/server';
import { Batches, type OpenIds } from '../batches.ts';
import { isReply, isRequest, type RequestId } from '../json-rpc.ts';
import { EventStream } from './event-stream.ts';

/** Number of unread bytes after which a client that does not read is disconnected. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/**
 * The server's end of one session over the deprecated transport: an event stream, and an address that receives
 * messages. The session ends with the stream.
 */
export class SseTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void;
  sessionId?: string;

  readonly #stream: EventStream;
  readonly #now: () => number;
  readonly #unanswered = new Set<RequestId>();
  /** Ids of the client that are in use. */
  readonly openIds: OpenIds = this.#unanswered;
  readonly #batches = new Batches();
  #lastActiveAt: number;
  #hasSpoken = false;
  #isClosed = false;

  /** `messagesAddress` is the address that the client has to post to. */
  constructor(sessionId: string, response: ServerResponse, messagesAddress: string, now: () => number) {
    this.sessionId = sessionId;
    this.#now = now;
    this.#lastActiveAt = now();
    this.#stream = new EventStream(response);
    void this.#stream.write(`event: endpoint\ndata: ${messagesAddress}\n\n`);
    response.once('close', () => void this.close());
  }

  get lastActiveAt(): number {
    return this.#lastActiveAt;
  }

  /** True after the first message. Until then the session may be closed to make room for another. */
  get isBusy(): boolean {
    return this.#hasSpoken;
  }

  async start(): Promise<void> {}

  /** Receives the messages of one POST. The replies are sent on the stream. */
  receive(messages: readonly JSONRPCMessage[], isBatch: boolean): void {
    this.#hasSpoken = true;
    this.#lastActiveAt = this.#now();
    if (isBatch) this.#batches.begin(messages);
    for (const message of messages) {
      if (isRequest(message)) this.#unanswered.add(message.id);
      else if ('method' in message && message.method === 'notifications/cancelled')
        this.#cancelled(message.params?.requestId as RequestId);
      this.onmessage?.(message);
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#isClosed) throw new Error('The session is closed');
    if (!isReply(message)) {
      if (this.#stream.hasRoomFor(message)) await this.#write(message);
      return;
    }
    if (message.id === undefined) return;
    this.#unanswered.delete(message.id);
    const ready = this.#batches.take(message.id, message);
    if (ready !== undefined) await this.#write(ready);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stream.end();
    this.onclose?.();
  }

  #cancelled(id: RequestId): void {
    this.#unanswered.delete(id);
    const ready = this.#batches.cancel(id);
    if (ready !== undefined) void this.#write(ready);
  }

  async #write(message: JSONRPCMessage | readonly JSONRPCMessage[]): Promise<void> {
    if (this.#stream.waitingBytes > MAX_WAITING_BYTES) {
      this.onerror?.(new Error('The client does not read its replies'));
      this.#stream.destroy();
      return;
    }
    await this.#stream.send(message);
  }
}
