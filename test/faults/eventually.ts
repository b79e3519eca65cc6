import { setTimeout as sleep } from 'node:timers/promises';

const TRY_EVERY_MS = 200;

/** Tries until it holds. `expect.poll` knows one test at a time, and these run side by side. */
export async function eventually<T>(withinMs: number, check: () => T | Promise<T>): Promise<T> {
  const endsAt = performance.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > endsAt) throw error;
      await sleep(TRY_EVERY_MS);
    }
  }
}
