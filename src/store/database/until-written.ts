import { type Backoff, backoffMs, sleep } from '../../support/runtime/backoff.ts';
import { ConnectionLostError, UniqueViolationError } from './store-errors.ts';

/** Milliseconds that a write survives an unreachable database, such as during a restart or a failover. */
const RETRY_FOR_MS = 15_000;
const BACKOFF: Backoff = { firstMs: 50, longestMs: 1_000 };
/** Largest number of tries when other writers take the same number. */
const MAX_TAKEN = 20;

export interface UntilWrittenOptions<T> {
  /**
   * The result of an earlier try that succeeded after all; undefined if it did not. It is called after a lost
   * connection, whose commit may still have gone through.
   */
  found(): Promise<T | undefined>;
  /** Called before the next try when another writer took the same number. Without it the conflict is an error. */
  onTaken?(): void;
}

/**
 * Runs an all-or-nothing write until it is done exactly once. After a lost connection it checks for the rows of the
 * last try before it writes again.
 *
 * @throws ConnectionLostError when the database stays unreachable; errors of `write`.
 */
export async function untilWritten<T>(write: () => Promise<T>, options: UntilWrittenOptions<T>): Promise<T> {
  const endsAt = performance.now() + RETRY_FOR_MS;
  let isUncertain = false;
  let losses = 0;
  let taken = 0;
  const writeOrFind = async () => {
    try {
      return await write();
    } catch (error) {
      // The commit of a lost connection may arrive as late as this.
      const written = isUncertain && error instanceof UniqueViolationError ? await options.found() : undefined;
      if (written !== undefined) return written;
      throw error;
    }
  };
  for (;;) {
    try {
      const written = isUncertain ? await options.found() : undefined;
      return written ?? (await writeOrFind());
    } catch (error) {
      if (error instanceof ConnectionLostError && performance.now() < endsAt) {
        isUncertain = true;
        await sleep(backoffMs(losses++, BACKOFF));
        continue;
      }
      if (!(error instanceof UniqueViolationError)) throw error;
      if (options.onTaken === undefined || ++taken > MAX_TAKEN) throw error;
      options.onTaken();
    }
  }
}
