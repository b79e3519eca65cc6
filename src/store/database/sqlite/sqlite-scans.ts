import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { builtFile } from '../../../support/runtime/built-file.ts';
import { storeIsBusy } from '../store-errors.ts';
import type { DatabaseSchema } from '../tables/schema.ts';
import { type SqliteCodes, toStoreError } from './sqlite-dialect.ts';

export interface ScanRequest {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

export interface ScanAnswer {
  /** Absent when the query failed. */
  readonly rows?: readonly unknown[];
  readonly error?: SqliteCodes & { readonly message: string };
}

/** Milliseconds that a caller waits for a query. The query itself cannot be interrupted and goes on in the thread. */
const SCAN_LIMIT_MS = 30_000;
/** Milliseconds after which an idle thread ends. */
const IDLE_MS = 60_000;
const BUSY_TIMEOUT_MS = 5_000;

/**
 * Reads a SQLite file in a separate thread, so that a query over a million rows does not block the event loop. The
 * thread starts with the first query and ends when it is idle. Each query sees everything that was committed before it.
 *
 * @param path an existing database file. The caller closes the result with `destroy()`.
 */
export function createSqliteScans(path: string, { limitMs = SCAN_LIMIT_MS } = {}): Kysely<DatabaseSchema> {
  const dialect: Dialect = {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new ScanDriver(new ScanThread(path, limitMs)),
    createIntrospector: (database) => new SqliteIntrospector(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
  return new Kysely<DatabaseSchema>({ dialect });
}

interface Scan {
  readonly request: ScanRequest;
  readonly resolve: (rows: readonly unknown[]) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

class ScanThread {
  readonly #path: string;
  readonly #limitMs: number;
  /**
   * Queries that the thread has not received. It gets one at a time, so that queries whose callers gave up are not run.
   */
  #waiting: Scan[] = [];
  /** The query that the thread executes. Its caller may have given up. */
  #running: Scan | undefined;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(path: string, limitMs: number) {
    this.#path = path;
    this.#limitMs = limitMs;
  }

  async all({ sql, parameters }: CompiledQuery): Promise<readonly unknown[]> {
    return await new Promise((resolve, reject) => {
      const giveUp = () => {
        this.#waiting = this.#waiting.filter((other) => other !== scan);
        reject(storeIsBusy(new Error(`a query took longer than ${this.#limitMs / 1_000} s`)));
      };
      const scan: Scan = { request: { sql, parameters }, resolve, reject, timer: setTimeout(giveUp, this.#limitMs) };
      this.#waiting.push(scan);
      this.#next();
    });
  }

  /**
   * Rejects the callers at once, and resolves when the running query is done: terminating a thread inside of SQLite
   * would crash the process.
   */
  async close(): Promise<void> {
    this.#refuse(new Error('The database was closed.'));
    const worker = this.#worker;
    if (worker === undefined) return;
    if (this.#running !== undefined)
      await Promise.race([once(worker, 'message'), once(worker, 'exit')]).catch(() => {});
    this.#forget(worker);
    await worker.terminate();
  }

  #next(): void {
    if (this.#running !== undefined) return;
    const scan = this.#waiting.shift();
    if (scan === undefined) return;
    this.#running = scan;
    const worker = this.#started();
    worker.ref();
    worker.postMessage(scan.request);
  }

  #started(): Worker {
    clearTimeout(this.#idle);
    if (this.#worker !== undefined) return this.#worker;
    const worker = new Worker(builtFile('store/database/sqlite/sqlite-scan-thread.js'), {
      workerData: { path: this.#path, busyTimeoutMs: BUSY_TIMEOUT_MS },
      execArgv: [], // The thread does not need a loader or a debugger of this process.
      name: 'proctor-scans',
    });
    worker.on('message', (answer: ScanAnswer) => this.#settle(answer));
    worker.on('error', (error) => this.#lost(worker, error));
    worker.on('exit', () => this.#lost(worker, new Error('The thread that reads the database ended.')));
    this.#worker = worker;
    return worker;
  }

  #settle({ rows, error }: ScanAnswer): void {
    const scan = this.#running;
    this.#running = undefined;
    clearTimeout(scan?.timer);
    if (rows === undefined) scan?.reject(toStoreError(Object.assign(new Error(error?.message), error)));
    else scan?.resolve(rows);
    this.#next();
    if (this.#running !== undefined) return;
    this.#worker?.unref(); // An idle thread does not keep the process alive.
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#endIdle(), IDLE_MS).unref();
  }

  #endIdle(): void {
    const worker = this.#worker;
    if (worker === undefined || this.#running !== undefined) return;
    this.#forget(worker);
    void worker.terminate();
  }

  /** Rejects the running query. The next query starts another thread. */
  #lost(worker: Worker, reason: Error): void {
    if (this.#worker !== worker) return;
    this.#forget(worker);
    this.#refuse(reason);
  }

  #forget(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#running = undefined;
    clearTimeout(this.#idle);
  }

  #refuse(reason: Error): void {
    const refused = this.#running === undefined ? this.#waiting : [this.#running, ...this.#waiting];
    this.#waiting = [];
    for (const { reject, timer } of refused) {
      clearTimeout(timer);
      reject(reason);
    }
  }
}

class ScanDriver implements Driver {
  readonly #thread: ScanThread;

  constructor(thread: ScanThread) {
    this.#thread = thread;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return {
      executeQuery: async <Row>(query: CompiledQuery): Promise<QueryResult<Row>> => ({
        rows: (await this.#thread.all(query)) as Row[], // Kysely derives the row type from the query.
      }),
      streamQuery() {
        throw new Error('Rows cannot be streamed from the thread that reads the database.');
      },
    };
  }

  async beginTransaction(): Promise<void> {
    throw new Error('The thread that reads the database has no transactions.');
  }

  async commitTransaction(): Promise<void> {}

  async rollbackTransaction(): Promise<void> {}

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    await this.#thread.close();
  }
}
