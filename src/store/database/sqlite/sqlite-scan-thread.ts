import { parentPort, workerData } from 'node:worker_threads';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import type { ScanAnswer, ScanRequest } from './sqlite-scans.ts';

/** The program of the thread. It executes one query after the other on a read-only connection. */
const { path, busyTimeoutMs } = workerData as { readonly path: string; readonly busyTimeoutMs: number };
let opened: DatabaseSyncInstance | undefined;

/** Opens the file at the first query, so that a failure to open is the answer to that query. */
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
    }); // Kysely passes only values that SQLite takes.
  } catch (error) {
    // The error codes are copied here because structured cloning drops them from errors.
    const { message, sqliteCode, sqliteExtendedCode } = error as Error & NonNullable<ScanAnswer['error']>;
    answer({ error: { message, sqliteCode, sqliteExtendedCode } });
  }
});
