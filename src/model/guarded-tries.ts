import type { Usage } from '../contract/chat.ts';
import type { CallWatch } from './call-guard.ts';
import type { GatewayFailure } from './gateway-failure.ts';

export interface GuardedTries {
  readonly signal: AbortSignal;
  /** Turns the error of a try into a failure. */
  toFailure(thrown: unknown): GatewayFailure;
  /** Those of the response so far. */
  characters(): number;
  /** False once something was delivered that cannot be taken back. Default: never. */
  mayRetry?(): boolean;
  /** Makes the error that is thrown at the end. */
  toError(failure: GatewayFailure, tries: number): Error;
}

/**
 * Tries until the watch has had enough. It is told of the end of every try that it let through.
 *
 * @returns the value, and how many tries failed before it.
 * @throws what `toError` makes of the last failure, the reason of the signal, or what the watch throws.
 */
export async function withWatch<T extends { readonly usage: Usage }>(
  watch: CallWatch,
  attempt: (maxTokens: number | null) => Promise<T>,
  { signal, toFailure, characters, mayRetry = () => true, toError }: GuardedTries,
): Promise<{ readonly value: T; readonly retries: number }> {
  for (let tries = 1; ; tries += 1) {
    const maxTokens = await watch.enter();
    try {
      const value = await attempt(maxTokens);
      await watch.succeeded(value.usage, characters());
      return { value, retries: tries - 1 };
    } catch (thrown) {
      const failure = signal.aborted ? undefined : toFailure(thrown);
      const isTriedAgain = await watch.failed(failure, characters());
      if (failure === undefined) throw signal.reason;
      if (!isTriedAgain || !mayRetry()) throw toError(failure, tries);
    }
  }
}
