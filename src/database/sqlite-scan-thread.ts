import { parentPort, workerData } from 'node:worker_threads';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import type { ScanAnswer, ScanRequest } from './sqlite-scans.ts';

/** The program of the thread: it executes one query after the other on a read-only connection. */
const { path, busyTimeoutMs } = workerData as { readonly path: string; readonly busyTimeoutMs: number };
let opened: DatabaseSyncInstance | undefined;

/** Opened at the first query, so that a file that cannot be opened is an answer to it. */
function connect(): DatabaseSyncInstance {
  if (opened !== undefined) return opened;
  const connection = new DatabaseSync(path, { readOnly: true });
  connection.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
  opened = connection;
  return connection;
}

parentPort?.on('message', ({ sql, parameters }: ScanRequest) => {
  const answer = (given: ScanAnswer) => parentPort?.postMessage(given);
  try {
    answer({
      rows: connect()
        .prepare(sql)
        .all(...(parameters as never[])),
    }); // Kysely passes what SQLite takes.
  } catch (error) {
    // A copy of an error has no codes.
    const { message, sqliteCode, sqliteExtendedCode } = error as Error & NonNullable<ScanAnswer['error']>;
    answer({ error: { message, sqliteCode, sqliteExtendedCode } });
  }
});
