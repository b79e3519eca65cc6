import { clearTimeout, setTimeout } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { TestRunner } from 'vitest';

export interface UntilOptions {
  /** Default: nine tenths of what the test may take, so that it fails with the message of this wait. */
  readonly withinMs?: number;
}

/** A hook belongs to no test. */
const DEFAULT_TEST_MS = 60_000;
const LONGEST_PAUSE_MS = 100;

/**
 * Asks again until the check neither gives false nor throws. `expect.poll` does the same for one assertion of a test
 * that runs alone. Fake timers and a fake clock do not hold it up.
 *
 * @throws Error after the limit, with the check and its last error.
 */
export async function until<T>(
  check: () => T | Promise<T>,
  { withinMs = limitOfTest() }: UntilOptions = {},
): Promise<Exclude<T, false>> {
  const over = new AbortController();
  const limit = setTimeout(() => over.abort(), withinMs).unref();
  try {
    for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
      const isLast = over.signal.aborted;
      const found = await tryOnce(check);
      if ('value' in found && found.value !== false) return found.value as Exclude<T, false>;
      if (isLast) throw toError(check, withinMs, found);
      await sleep(pauseMs, undefined, { signal: over.signal }).catch(() => {});
    }
  } finally {
    clearTimeout(limit);
  }
}

type Found<T> = { readonly value: T } | { readonly cause: unknown };

async function tryOnce<T>(check: () => T | Promise<T>): Promise<Found<T>> {
  try {
    return { value: await check() };
  } catch (cause) {
    return { cause };
  }
}

function toError(check: () => unknown, withinMs: number, found: Found<unknown>): Error {
  const cause = 'cause' in found ? found.cause : undefined;
  const last = cause instanceof Error ? `, at last: ${cause.message}` : '';
  return new Error(`Waited ${withinMs} ms in vain for ${check}${last}`, { cause });
}

function limitOfTest(): number {
  return (TestRunner.getCurrentTest()?.timeout ?? DEFAULT_TEST_MS) * 0.9;
}
