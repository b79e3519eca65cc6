import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { endsWithin } from '../runtime/deadline.ts';
import { toStoreError } from './postgres-errors.ts';
import { PLANNED_EACH_TIME } from './postgres-rows.ts';
import { ConnectionLostError } from './store-errors.ts';

/** Milliseconds. */
const END_LIMIT_MS = 5_000;

/** Queries of which the server keeps the parsed form, for each connection. Lists of values make ever new ones: those go without. */
const MAX_NAMED = 200;

/** The connections of a pool as Kysely takes them: errors in the words of every store, and queries that are parsed once. */
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
    if (known !== undefined) return known; // Kysely knows its connections by their identity.
    const connection = new PostgresConnection(client, (text) => this.#nameOf(text));
    this.#wrapped.set(client, connection);
    return connection;
  }

  /** Waits for queries that are under way, but not for ever: their server may be gone. */
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

  // Kysely asks for a second form with a cursor, which needs a cursor in the dialect's configuration: there is none.
  // biome-ignore lint/suspicious/noExplicitAny: the signature of Kysely's interface
  query(text: any, values?: any): any {
    return this.#query(text, values);
  }

  release(): void {
    this.#client.release(this.#isLost);
  }

  async #query(text: string, values: readonly unknown[]): Promise<PostgresQueryResult<unknown>> {
    if (this.#isLost && text === 'rollback') return { command: 'UPDATE', rowCount: 0, rows: [] }; // The server has done it.
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

/** Postgres has no character 0 in its text. What is stored is JSON, which escapes it, or a name. */
function withoutZeros(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
  return Array.isArray(value) ? value.map(withoutZeros) : value;
}
