import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ApiError } from '../../../contract/errors.ts';
import {
  type ImportedTraces,
  type ImportQuery,
  importQuerySchema,
  MAX_IMPORT_BYTES,
} from '../../../contract/service/import.ts';
import type { Database } from '../../../store/database/database.ts';
import { IMPORT_LIMITS, type ImportLimits } from '../../../store/formats/import-limits.ts';
import { FormatError } from '../../../store/formats/imported-trace.ts';
import { importInThread } from '../../../store/traces/import-in-thread.ts';
import type { TraceStore } from '../../../store/traces/trace-store.ts';
import { accountOf } from '../../../support/http/api/api-keys.ts';
import { defineRoute, type Route } from '../../../support/http/api/route.ts';
import type { WorkStreams } from '../../../support/http/work-streams.ts';
import { WorkPlaces } from './work-places.ts';

export interface ImportsRouteOptions {
  readonly database: Database;
  readonly store: TraceStore;
  readonly works: WorkStreams;
}

/** Lower than those of a command, which has a process to itself. */
const LIMITS: ImportLimits = {
  ...IMPORT_LIMITS,
  fileBytes: MAX_IMPORT_BYTES,
  memberBytes: MAX_IMPORT_BYTES,
  unpackedBytes: 4 * MAX_IMPORT_BYTES,
  values: IMPORT_LIMITS.values / 4,
  members: IMPORT_LIMITS.members / 4,
};

/** Stores the traces of a file for the account of the caller: all of them, or none. */
export function createImportsRoute({ database, store, works }: ImportsRouteOptions): Route {
  const places = new WorkPlaces({ most: 2, underWay: 'A file is being imported', atOnce: 'imports 2 files' });
  return defineRoute({
    method: 'POST',
    path: '/v1/imports',
    summary: 'Store the traces of a file of others, which is the body: the answer comes once all are stored',
    access: 'key-or-browser',
    fileBytes: MAX_IMPORT_BYTES,
    query: importQuerySchema,
    about: { contentType: 'text/event-stream', errors: ['quota_exceeded', 'capacity_exceeded', 'store_unavailable'] },
    async handle({ requestId, queryValues, file = none(), caller, signal: gone }) {
      const account = accountOf(caller);
      const place = places.take(account);
      const folder = new ImportFolder(() => place[Symbol.dispose]());
      const work = async (path: string, signal: AbortSignal): Promise<ImportedTraces> => {
        const { env_name: envName, scenario_name: scenarioName, score } = queryValues;
        const options = { account, redactor: store.redactor, envName, scenarioName, score, limits: LIMITS, signal };
        const { traceIds, added, lost } = await importInThread(database, path, options).catch(refuse);
        return { type: 'imported', trace_ids: [...traceIds], added, lost: [...lost] };
      };
      try {
        const path = await folder.keep(file, queryValues, works.endedBy(gone));
        return await works.stream<ImportedTraces>({ requestId, signal: gone }, async (send, signal) => {
          const imported = await work(path, signal).finally(() => folder.remove());
          await send(imported);
        });
      } catch (error) {
        await folder.remove();
        throw error;
      }
    },
  });
}

/** The file of a request, alone in a folder: no path of it leads to a file of this machine. */
class ImportFolder {
  readonly #onRemoved: () => void;
  #folder: string | undefined;

  constructor(onRemoved: () => void) {
    this.#onRemoved = onRemoved;
  }

  /** @returns the path of the file. @throws ApiError request_too_large; the reason of the signal. */
  async keep(file: AsyncIterable<Uint8Array>, query: ImportQuery, signal: AbortSignal): Promise<string> {
    this.#folder = await mkdtemp(join(tmpdir(), 'proctor-import-'));
    const { metadata_env: env_id, metadata_model: model } = query;
    const hasFacts = env_id !== undefined || model !== undefined;
    if (hasFacts) await writeFile(join(this.#folder, 'metadata.json'), JSON.stringify({ env_id, model }));
    const path = join(this.#folder, hasFacts ? 'results.jsonl' : 'traces');
    await pipeline(file, createWriteStream(path), { signal });
    return path;
  }

  async remove(): Promise<void> {
    try {
      if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
    } finally {
      this.#onRemoved();
    }
  }
}

function refuse(error: unknown): never {
  if (!(error instanceof FormatError)) throw error;
  throw new ApiError('invalid_parameter', error.message, { param: 'file', cause: error });
}

async function* none(): AsyncGenerator<Uint8Array, void> {}
