import { parentPort, workerData } from 'node:worker_threads';
import { ApiError, messageOf } from '../../contract/errors.ts';
import { createRedactor } from '../../support/redaction/redactor.ts';
import { openDatabase } from '../database/open-database.ts';
import { FormatError } from '../formats/imported-trace.ts';
import { importFile } from './import-file.ts';
import type { ImportThreadAnswer, ImportThreadData } from './import-in-thread.ts';

/** The program of the thread that imports one file. */
const { address, file, isStopped, redactor, ...options } = workerData as ImportThreadData;

parentPort?.postMessage(await run());

async function run(): Promise<ImportThreadAnswer> {
  const database = await openDatabase(address);
  try {
    const { traceIds, added, losses } = await importFile(database, file, {
      ...options,
      redactor: createRedactor(redactor.secrets, redactor.shapes),
      signal: {
        throwIfAborted() {
          if (Atomics.load(isStopped, 0) !== 0) throw new Error('The import was stopped');
        },
      },
    });
    return { kind: 'imported', traceIds, added, lost: losses.toList() };
  } catch (error) {
    if (error instanceof FormatError) return { kind: 'refused', message: error.message };
    const code = error instanceof ApiError ? error.code : undefined;
    return { kind: 'failed', code, message: messageOf(error) };
  } finally {
    await database.close();
  }
}
