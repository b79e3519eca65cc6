import type { Pool, PoolClient } from 'pg';
import { sleep } from '../../../support/runtime/backoff.ts';
import { PERIODS_MS } from '../../../support/runtime/periods.ts';
import type { Hints } from '../database.ts';

/** Every process of the database listens to this channel. Channel names are local to a database. */
const CHANNEL = 'proctor_queue';

/** Milliseconds until a lost connection is opened again; doubled after each failure. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

export interface PostgresHintsOptions {
  /** Creates a pool for one connection at a time, which only listens. `PostgresHints` ends the pool. */
  createPool(): Promise<Pool>;
  /** Runs one statement. */
  execute(statement: string): Promise<unknown>;
}

/**
 * Hints by LISTEN and NOTIFY. The listening connection is opened for the first listener, and again when it is lost.
 * Some poolers drop notifications; then no hint arrives, and polling still works.
 */
export class PostgresHints implements Hints {
  readonly #options: PostgresHintsOptions;
  readonly #listeners = new Set<() => void>();
  #isSending = false;
  #isAsked = false;
  #connection: { readonly stop: () => void } | undefined;

  constructor(options: PostgresHintsOptions) {
    this.#options = options;
  }

  send(): void {
    this.#isAsked = true;
    if (!this.#isSending) void this.#sendAll();
  }

  hear(listener: () => void): () => void {
    const own = () => listener(); // A new function each time, so that one listener may be added twice.
    this.#listeners.add(own);
    this.#connection ??= this.#listen();
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) this.close();
    };
  }

  /** Ends the connection. */
  close(): void {
    this.#connection?.stop();
    this.#connection = undefined;
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true;
    while (this.#isAsked) {
      this.#isAsked = false;
      // If the hint gets lost, listeners find the work at their next poll.
      await this.#options.execute(`select pg_notify('${CHANNEL}', '')`).catch(() => {});
      await new Promise<void>((resolve) => void setTimeout(resolve, PERIODS_MS.hints).unref());
    }
    this.#isSending = false;
  }

  #listen(): { readonly stop: () => void } {
    const stopping = new AbortController();
    void this.#listenUntil(stopping.signal);
    return { stop: () => stopping.abort() };
  }

  async #listenUntil(signal: AbortSignal): Promise<void> {
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const wasHearing = await this.#listenOnce(signal).catch(() => false);
      pauseMs = wasHearing ? FIRST_PAUSE_MS : Math.min(pauseMs * 2, MAX_PAUSE_MS);
      await sleep(pauseMs, signal).catch(() => {}); // `close` may abort the pause.
    }
  }

  /** Listens until the connection is lost or the last listener is removed. */
  async #listenOnce(signal: AbortSignal): Promise<boolean> {
    const pool = await this.#options.createPool();
    try {
      const client = await pool.connect();
      const lost = untilLost(client, signal);
      try {
        client.on('notification', () => this.#tell());
        await client.query(`listen ${CHANNEL}`);
        this.#tell(); // Hints sent before the connection was up were missed.
        await lost;
      } finally {
        client.release(true);
      }
      return true;
    } finally {
      await pool.end();
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** Resolves when the connection is lost or `signal` is aborted. It never rejects. */
function untilLost(client: PoolClient, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
    client.once('error', () => resolve());
    client.once('end', () => resolve());
  });
}
