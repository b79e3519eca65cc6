import type { Redactor } from '../../support/redaction/redactor.ts';
import type { Database } from '../database/database.ts';
import { createFileBytes } from '../formats/file-bytes.ts';
import { IMPORT_LIMITS, type ImportLimits } from '../formats/import-limits.ts';
import type { ReadContext, ReadOptions } from '../formats/imported-trace.ts';
import { Losses } from '../formats/losses.ts';
import { readTraces } from '../formats/read-file.ts';
import { importedTraceId, importTraces, type TraceToImport } from './import-traces.ts';

/** Traces of one transaction. */
const BATCH = 50;

export interface ImportFileOptions extends ReadOptions {
  readonly account: string;
  readonly redactor: Redactor;
  /** Limits of an import. Default: those of the contract. */
  readonly limits?: ImportLimits;
  /** Ends the check of a file. A file whose check has passed is stored whole. */
  readonly signal?: Pick<AbortSignal, 'throwIfAborted'>;
}

export interface ImportedFile {
  /** Ids of all traces of the file, with those that were stored before. */
  readonly traceIds: readonly string[];
  readonly added: number;
  readonly losses: Losses;
}

/**
 * Stores the traces of a file. It reads the file twice, first to check that all of it is valid.
 *
 * @throws FormatError for an invalid file; then nothing is stored. @throws the reason of the signal.
 */
export async function importFile(
  database: Database,
  file: string,
  { account, redactor, limits = IMPORT_LIMITS, signal, ...options }: ImportFileOptions,
): Promise<ImportedFile> {
  const begin = (): ReadContext => ({ options, losses: new Losses(), bytesAt: createFileBytes(file, limits) });
  for await (const _ of readTraces(file, begin(), limits)) signal?.throwIfAborted();
  const context = begin();
  const traceIds: string[] = [];
  const equal = new Map<string, number>();
  let added = 0;
  let batch: TraceToImport[] = [];
  const write = async () => {
    added += await importTraces(database, batch, { account, redactor });
    batch = [];
  };
  for await (const trace of readTraces(file, context, limits)) {
    const first = importedTraceId(account, trace, 0);
    const count = equal.get(first) ?? 0;
    equal.set(first, count + 1);
    const traceId = count === 0 ? first : importedTraceId(account, trace, count);
    traceIds.push(traceId);
    batch.push({ traceId, trace });
    if (batch.length >= BATCH) await write();
  }
  await write();
  return { traceIds, added, losses: context.losses };
}
