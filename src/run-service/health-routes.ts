import { z } from 'zod';
import type { Catalogue } from '../client/catalogue.ts';
import { ApiError } from '../contract/errors.ts';
import type { Database } from '../database/database.ts';
import { defineRoute, type Route } from '../http/route.ts';
import type { RunQueue } from '../queue/run-queue.ts';

export interface HealthRoutesOptions {
  readonly database: Database;
  readonly queue: RunQueue;
  readonly catalogue: Catalogue;
  readonly isShuttingDown: () => boolean;
}

/** Time that each part has to answer, in milliseconds. */
const CHECK_TIMEOUT_MS = 5_000;

const healthSchema = z.object({ status: z.literal('ok') });

/** `GET /healthz`: the process is up. `GET /readyz`: store, queue and environments answer. */
export function createHealthRoutes(options: HealthRoutesOptions): readonly Route[] {
  const health = defineRoute({
    method: 'GET',
    path: '/healthz',
    summary: 'The process is up',
    access: 'public',
    response: healthSchema,
    handle: () => ({ body: { status: 'ok' } }),
  });
  const ready = defineRoute({
    method: 'GET',
    path: '/readyz',
    summary: 'Store, queue and environments answer',
    access: 'public',
    response: healthSchema,
    async handle() {
      if (options.isShuttingDown()) {
        throw new ApiError('shutting_down', 'The server is shutting down.', { headers: { 'retry-after': '5' } });
      }
      const failed = await failedParts(options);
      if (failed.length === 0) return { body: { status: 'ok' } };
      throw new ApiError('capacity_exceeded', `Not ready, these do not answer: ${failed.join(', ')}.`, {
        headers: { 'retry-after': '5' },
      });
    },
  });
  return [health, ready];
}

/** Names alone: whoever asks has shown no key. */
async function failedParts({ database, queue, catalogue }: HealthRoutesOptions): Promise<readonly string[]> {
  const [store, entries, environments] = await Promise.all([
    answers(() => database.kysely.selectFrom('traces').select('trace_id').limit(1).execute()),
    answers(() => queue.counts()),
    answers(() => catalogue.list()),
  ]);
  const broken = environments?.filter((environment) => environment.version === '') ?? [];
  return [
    ...(store === undefined ? ['store'] : []),
    ...(entries === undefined ? ['queue'] : []),
    ...(environments === undefined ? ['environments'] : broken.map(({ name }) => `environment ${name}`)),
  ];
}

async function answers<T>(ask: () => Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), CHECK_TIMEOUT_MS);
  });
  try {
    return await Promise.race([ask(), tooLate]);
  } catch {
    return undefined; // Which part it is says enough to whoever asks; its own log says why.
  } finally {
    clearTimeout(timer);
  }
}
