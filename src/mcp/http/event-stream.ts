import type { ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';

/** Milliseconds between comments on an open stream, so that nothing in between takes it for dead. */
const KEEP_ALIVE_MS = 15_000;
/** Bytes that may wait for a client that does not read, before notifications are left out. */
const MAX_BEHIND_BYTES = 1024 * 1024;

/** Server-sent events on a response. Ends by itself when the client goes away. */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #keepAlive: NodeJS.Timeout;
  /** One for all that wait: a listener for each message would grow without bound. */
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
    this.#keepAlive = setInterval(() => {
      if (!response.writableNeedDrain) response.write(': keep-alive\n\n');
    }, KEEP_ALIVE_MS);
    this.#keepAlive.unref();
    response.once('close', () => clearInterval(this.#keepAlive));
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded;
  }

  /** Bytes that the client has not taken yet. */
  get waitingBytes(): number {
    return this.#response.writableLength;
  }

  /**
   * False for what a client that does not read has to do without, so that it cannot fill this process's memory: progress
   * as soon as it is behind, since it is worth nothing late; other notifications when much waits. Never for replies.
   */
  hasRoomFor(message: JSONRPCMessage): boolean {
    if (!('method' in message) || 'id' in message) return true;
    return message.method === 'notifications/progress'
      ? !this.#response.writableNeedDrain
      : this.#response.writableLength < MAX_BEHIND_BYTES;
  }

  /** Resolves when the client may be sent more, or is gone. */
  send(message: object): Promise<void> {
    return this.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }

  /** Sends the text of whole events. Resolves as `send`. */
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
    clearInterval(this.#keepAlive);
    if (this.isOpen) this.#response.end();
  }

  /** Ends the connection, whatever waits on it. */
  destroy(): void {
    this.#response.destroy();
  }
}
