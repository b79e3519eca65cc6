import type { Pool, PoolClient } from 'pg';
import type { Hints } from './database.ts';

/** Every process of the database hears it; names of channels are the database's own. */
const CHANNEL = 'proctor_queue';

/** Milliseconds between two hints of this process: each is a commit that the others of the server wait for. */
const SEND_EVERY_MS = 10;
/** Milliseconds until a lost connection is made again; doubled each time that it cannot be. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;

export interface PostgresHintsOptions {
  /** Makes connections for this alone, one at a time. They are ended here. */
  createPool(): Promise<Pool>;
  /** Runs one statement. */
  execute(statement: string): Promise<unknown>;
}

/**
 * Hints by LISTEN and NOTIFY. What listens has a connection of its own, made when somebody wants to hear and made again
 * when it is lost. Where a pooler between does not pass them on, nothing is heard, and that is all.
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
    const own = () => listener(); // one function may listen twice
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
      // A hint that gets lost costs those who would have heard it the time until they look by themselves.
      await this.#options.execute(`select pg_notify('${CHANNEL}', '')`).catch(() => {});
      await new Promise<void>((resolve) => void setTimeout(resolve, SEND_EVERY_MS).unref());
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
      await pause(pauseMs, signal);
    }
  }

  /** Until the connection is lost or nobody wants to hear any more. */
  async #listenOnce(signal: AbortSignal): Promise<boolean> {
    const pool = await this.#options.createPool();
    try {
      const client = await pool.connect();
      const lost = untilLost(client, signal);
      try {
        client.on('notification', () => this.#tell());
        await client.query(`listen ${CHANNEL}`);
        this.#tell(); // Hints sent before this were not received.
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

/** Never rejects. */
function untilLost(client: PoolClient, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
    client.once('error', () => resolve());
    client.once('end', () => resolve());
  });
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(end, ms);
    timer.unref();
    signal.addEventListener('abort', end, { once: true });
    function end() {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    }
  });
}
