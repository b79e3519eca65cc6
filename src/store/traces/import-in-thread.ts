import { Worker } from 'node:worker_threads';
import { ApiError, type ErrorCode } from '../../contract/errors.ts';
import type { Loss } from '../../contract/service/import.ts';
import type { RedactorParts } from '../../support/redaction/redactor.ts';
import { builtFile } from '../../support/runtime/built-file.ts';
import type { Database } from '../database/database.ts';
import { FormatError } from '../formats/imported-trace.ts';
import { type ImportFileOptions, importFile } from './import-file.ts';

export interface ImportThreadData extends Omit<ImportFileOptions, 'redactor' | 'signal'> {
  /** Address of the database. */
  readonly address: string;
  readonly file: string;
  readonly redactor: RedactorParts;
  /** One number in shared memory: not 0 once the import is to stop. A thread that parses reads no messages. */
  readonly isStopped: Int32Array<SharedArrayBuffer>;
}

export type ImportThreadAnswer =
  | ({ readonly kind: 'imported' } & Imported)
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'failed'; readonly code: ErrorCode | undefined; readonly message: string };

export interface Imported {
  readonly traceIds: readonly string[];
  readonly added: number;
  readonly lost: readonly Loss[];
}

export interface ImportInThreadOptions extends Omit<ImportFileOptions, 'signal'> {
  /** Ends the check of a file. A file whose check has passed is stored whole. */
  readonly signal: AbortSignal;
}

/**
 * Stores the traces of a file as `importFile` does, in a thread with a connection of its own: parsing one document of
 * 60 MB blocks an event loop for seconds. A database in memory has no second connection; its imports run here.
 *
 * @throws FormatError, also for a file that needs too much memory; ApiError of the store; the reason of the signal.
 */
export async function importInThread(
  database: Database,
  file: string,
  { redactor, signal, ...options }: ImportInThreadOptions,
): Promise<Imported> {
  const { address } = database;
  if (address === undefined || redactor.parts === undefined) {
    const { traceIds, added, losses } = await importFile(database, file, { ...options, redactor, signal });
    return { traceIds, added, lost: losses.toList() };
  }
  signal.throwIfAborted();
  const isStopped = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const stop = () => void Atomics.store(isStopped, 0, 1);
  signal.addEventListener('abort', stop, { once: true });
  try {
    const answer = await run({ ...options, address, file, redactor: redactor.parts(), isStopped });
    if (answer.kind === 'imported') return answer;
    signal.throwIfAborted();
    throw toError(answer);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function run(workerData: ImportThreadData): Promise<ImportThreadAnswer> {
  const thread = new Worker(builtFile('store/traces/import-thread.js'), {
    workerData,
    execArgv: [], // The thread does not need a loader or a debugger of this process.
    name: 'proctor-import',
  });
  return await new Promise<ImportThreadAnswer>((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', (error: Error & { readonly code?: string }) => {
      if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY') reject(error);
      else resolve({ kind: 'refused', message: 'It needs more memory than there is for an import: split it.' });
    });
    thread.once('exit', () => reject(new Error('The thread that imports a file ended.')));
  });
}

function toError(answer: Exclude<ImportThreadAnswer, { readonly kind: 'imported' }>): Error {
  if (answer.kind === 'refused') return new FormatError(answer.message);
  return answer.code === undefined ? new Error(answer.message) : new ApiError(answer.code, answer.message);
}
