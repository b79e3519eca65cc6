import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { endsWithin } from '../../../support/runtime/deadline.ts';
import { ConnectionLostError } from '../store-errors.ts';
import { toStoreError } from './postgres-errors.ts';
import { PLANNED_EACH_TIME } from './postgres-rows.ts';

/** Milliseconds that `end` waits for running queries. */
const END_LIMIT_MS = 5_000;

/**
 * Largest number of prepared queries per connection. Queries with lists of values vary too much and are sent unprepared
 * beyond it.
 */
const MAX_NAMED = 200;

/** A pool for Kysely that translates errors into those of every store, and lets the server parse each query once. */
export class PostgresConnections implements PostgresPool {
  readonly #pool: Pool;
  readonly #names = new Map<string, string>();
  readonly #wrapped = new WeakMap<PoolClient, PostgresConnection>();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async connect(): Promise<PostgresPoolClient> {
    let client: PoolClient;
    try {
      client = await this.#pool.connect();
    } catch (error) {
      throw toStoreError(error);
    }
    const known = this.#wrapped.get(client);
    if (known !== undefined) return known; // Kysely recognizes connections by identity, so each client has one wrapper.
    const connection = new PostgresConnection(client, (text) => this.#nameOf(text));
    this.#wrapped.set(client, connection);
    return connection;
  }

  /** Waits for running queries, but not forever: their server may be gone. */
  async end(): Promise<void> {
    await endsWithin(this.#pool.end(), END_LIMIT_MS);
  }

  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= MAX_NAMED || text.startsWith(PLANNED_EACH_TIME)) return known;
    const name = `proctor_${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }
}

class PostgresConnection implements PostgresPoolClient {
  readonly #client: PoolClient;
  readonly #nameOf: (text: string) => string | undefined;
  #isLost = false;

  constructor(client: PoolClient, nameOf: (text: string) => string | undefined) {
    this.#client = client;
    this.#nameOf = nameOf;
  }

  // Kysely's second signature takes a cursor. The dialect is configured without cursors, so it is never called.
  // biome-ignore lint/suspicious/noExplicitAny: the signature of Kysely's interface
  query(text: any, values?: any): any {
    return this.#query(text, values);
  }

  release(): void {
    this.#client.release(this.#isLost);
  }

  async #query(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<unknown>> {
    // The server rolled back when the connection was lost.
    if (this.#isLost && text === 'rollback') return { command: 'UPDATE', rowCount: 0, rows: [] };
    const name = this.#nameOf(text);
    try {
      const query = { text, values: values.map(withoutZeros) };
      const result = await this.#client.query(name === undefined || values.length === 0 ? query : { ...query, name });
      if (text === 'commit' && result.command === 'ROLLBACK')
        throw new Error('The transaction had failed before its commit');
      return { command: result.command as 'SELECT', rowCount: result.rowCount ?? 0, rows: result.rows };
    } catch (thrown) {
      const error = toStoreError(thrown);
      this.#isLost ||= error instanceof ConnectionLostError;
      throw error;
    }
  }
}

/** Replaces the character 0, which Postgres text cannot hold. Stored texts are JSON, which escapes it, or names. */
function withoutZeros(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
  return Array.isArray(value) ? value.map(withoutZeros) : value;
}
