import { z } from 'zod';
import { ApiError } from '../contract/errors.ts';
import { defineRoute, type Route } from './route.ts';

/** A part of a server that has to answer for it to be ready. */
export interface ReadinessCheck {
  readonly name: string;
  /** What of it does not answer, by name. One that throws or takes too long is not ready as a whole. */
  failed(): Promise<readonly string[]>;
}

export interface HealthRoutesOptions {
  readonly checks: readonly ReadinessCheck[];
  readonly isShuttingDown: () => boolean;
}

/** Time that each part has to answer, in milliseconds. */
const CHECK_TIMEOUT_MS = 5_000;

const healthSchema = z.object({ status: z.literal('ok') });

/** `GET /healthz`: the process is up. `GET /readyz`: all that it stands on answers. */
export function createHealthRoutes({ checks, isShuttingDown }: HealthRoutesOptions): readonly Route[] {
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
    about: { errors: ['shutting_down', 'capacity_exceeded'] },
    async handle() {
      if (isShuttingDown()) {
        throw new ApiError('shutting_down', 'The server is shutting down.', { headers: { 'retry-after': '5' } });
      }
      const failed = (await Promise.all(checks.map(failuresOf))).flat();
      if (failed.length === 0) return { body: { status: 'ok' } };
      throw new ApiError('capacity_exceeded', `Not ready, these do not answer: ${failed.join(', ')}.`, {
        headers: { 'retry-after': '5' },
      });
    },
  });
  return [health, ready];
}

/** Names alone: whoever asks has shown no key. What fails says why in its own log. */
async function failuresOf(check: ReadinessCheck): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<readonly string[]>((resolve) => {
    timer = setTimeout(() => resolve([check.name]), CHECK_TIMEOUT_MS);
  });
  try {
    return await Promise.race([check.failed(), tooLate]);
  } catch {
    return [check.name];
  } finally {
    clearTimeout(timer);
  }
}
