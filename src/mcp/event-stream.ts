import type { ServerResponse } from 'node:http';

/** Milliseconds between comments on an open stream, so that nothing in between takes it for dead. */
const KEEP_ALIVE_MS = 15_000;

/** Server-sent events on a response. Ends by itself when the client goes away. */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #keepAlive: NodeJS.Timeout;

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

  /** True while the client has not yet taken what was sent: what can be left out should be. */
  get isBehind(): boolean {
    return this.#response.writableNeedDrain;
  }

  /** Resolves when the client may be sent more, or is gone. */
  async send(message: unknown): Promise<void> {
    if (!this.isOpen || this.#response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#response.off('drain', done);
        this.#response.off('close', done);
        resolve();
      };
      this.#response.once('drain', done);
      this.#response.once('close', done);
    });
  }

  end(): void {
    clearInterval(this.#keepAlive);
    if (this.isOpen) this.#response.end();
  }
}
