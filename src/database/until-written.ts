import { type Backoff, backoffMs, sleep } from '../runtime/backoff.ts';
import { ConnectionLostError, UniqueViolationError } from './store-errors.ts';

/** How long a write outlasts a database that is away, in milliseconds: a restart, or a failover to a standby. */
const RETRY_FOR_MS = 15_000;
const BACKOFF: Backoff = { firstMs: 50, longestMs: 1_000 };
/** Tries at a number that others take at the same time. */
const MAX_TAKEN = 20;

export interface UntilWrittenOptions<T> {
  /**
   * The result of an earlier try that succeeded after all; undefined if it did not. Called after a lost connection,
   * since its commit may have been under way.
   */
  found(): Promise<T | undefined>;
  /** Before the next try, where another writer had taken what this one wanted. Without it that is an error. */
  onTaken?(): void;
}

/**
 * Runs a write that is all or nothing, until it is done once and never twice: again when the connection was lost, unless
 * what it wrote turns out to be there.
 *
 * @throws ConnectionLostError when the database stayed away; what `write` throws.
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
      // The commit of a connection that was lost may come as late as this.
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
