import type { ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { type KeepAlive, startKeepAlive } from '../../../support/runtime/keep-alive.ts';

/** Number of unread bytes above which notifications are dropped. */
const MAX_BEHIND_BYTES = 1024 * 1024;

/** Sends server-sent events on a response. Ends when the client disconnects. */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #keepAlive: KeepAlive;
  /** A promise shared by all waiting messages, because a listener for each message would use unlimited memory. */
  #drained: Promise<void> | undefined;

  constructor(response: ServerResponse, headers: Readonly<Record<string, string>> = {}) {
    this.#response = response;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...headers,
    });
    response.flushHeaders();
    this.#keepAlive = startKeepAlive(() => {
      if (!response.writableNeedDrain) response.write(': keep-alive\n\n');
    });
    response.once('close', () => this.#keepAlive.stop());
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  /** Number of bytes that the client has not read yet. */
  get waitingBytes(): number {
    return this.#response.writableLength;
  }

  /**
   * False for notifications to drop because the client reads too slowly, which would fill this process's memory.
   * Progress is dropped as soon as the client is behind, other notifications when much is unread. Replies are always
   * sent.
   */
  hasRoomFor(message: JSONRPCMessage): boolean {
    if (!('method' in message) || 'id' in message) return true;
    return message.method === 'notifications/progress'
      ? !this.#response.writableNeedDrain
      : this.#response.writableLength < MAX_BEHIND_BYTES;
  }

  /** Sends a message. Resolves when the client can take more, or has disconnected. */
  send(message: object): Promise<void> {
    return this.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  /** Sends the text of whole events. Resolves like `send`. */
  async write(events: string): Promise<void> {
    if (!this.isOpen || this.#response.write(events)) return;
    this.#drained ??= new Promise<void>((resolve) => {
      const done = () => {
        this.#response.off('drain', done);
        this.#response.off('close', done);
        this.#drained = undefined;
        resolve();
      };
      this.#response.once('drain', done);
      this.#response.once('close', done);
    });
    await this.#drained;
  }

  end(): void {
    this.#keepAlive.stop();
    if (this.isOpen) this.#response.end();
  }

  /** Closes the connection at once and discards unsent data. */
  destroy(): void {
    this.#response.destroy();
  }
}
