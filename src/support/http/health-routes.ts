import { z } from 'zod';
import { ApiError } from '../../contract/errors.ts';
import { withDeadline } from '../runtime/deadline.ts';
import { defineRoute, type Route } from './api/route.ts';

/** A part that a server needs to be ready. */
export interface ReadinessCheck {
  readonly name: string;
  /** Names of the parts that do not answer. A check that throws or takes too long has failed as a whole. */
  failed(): Promise<readonly string[]>;
}

export interface HealthRoutesOptions {
  readonly checks: readonly ReadinessCheck[];
  /** Aborted when the server accepts no new work. */
  readonly closing: AbortSignal;
}

/** Milliseconds that each check may take. */
const CHECK_TIMEOUT_MS = 5_000;

/** Names of the checks (`storeCheck`, `queueCheck`) that a server needs to accept work. */
const STORES: ReadonlySet<string> = new Set(['store', 'queue']);

const healthSchema = z.object({ status: z.literal('ok') });

/** `GET /healthz` tells that the process is up. `GET /readyz` tells that everything it depends on answers. */
export function createHealthRoutes({ checks, closing }: HealthRoutesOptions): readonly Route[] {
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
    summary: 'What the server stands on answers',
    access: 'public',
    response: healthSchema,
    about: { errors: ['shutting_down', 'capacity_exceeded', 'store_unavailable'] },
    async handle() {
      if (closing.aborted) {
        throw new ApiError('shutting_down', 'The server is shutting down.', { headers: { 'retry-after': '5' } });
      }
      const failed = (await Promise.all(checks.map(failuresOf))).flat();
      if (failed.length === 0) return { body: { status: 'ok' } };
      const code = failed.some((name) => STORES.has(name)) ? 'store_unavailable' : 'capacity_exceeded';
      throw new ApiError(code, `Not ready, these do not answer: ${failed.join(', ')}.`, {
        headers: { 'retry-after': '5' },
      });
    },
  });
  return [health, ready];
}

/** Returns only names, because the caller has shown no key. The reason is in the log of the failed part. */
async function failuresOf(check: ReadinessCheck): Promise<readonly string[]> {
  try {
    return await withDeadline(() => check.failed(), { ms: CHECK_TIMEOUT_MS });
  } catch {
    return [check.name];
  }
}
