import type { Usage } from '../../contract/chat.ts';
import { type GatewayFailure, toGatewayFailure } from '../gateway-failure.ts';
import type { CallWatch } from './call-guard.ts';

export interface GuardedTries {
  readonly signal: AbortSignal;
  /** Characters of the response so far. */
  characters(): number;
  /** False once output was delivered that cannot be taken back. Default: always true. */
  mayRetry?(): boolean;
  /** Makes the error to throw at the end. */
  toError(failure: GatewayFailure, tries: number): Error;
}

/**
 * Tries until the watch stops it. The watch gets the end of every try that it allowed.
 *
 * @returns the value, and the number of failed tries before it.
 * @throws the error that `toError` makes of the last failure, the signal's reason, or the error of the watch.
 */
export async function withWatch<T extends { readonly usage: Usage }>(
  watch: CallWatch,
  attempt: (maxTokens: number | null) => Promise<T>,
  { signal, characters, mayRetry = () => true, toError }: GuardedTries,
): Promise<{ readonly value: T; readonly retries: number }> {
  for (let tries = 1; ; tries += 1) {
    const maxTokens = await watch.enter();
    try {
      const value = await attempt(maxTokens);
      await watch.succeeded(value.usage, characters());
      return { value, retries: tries - 1 };
    } catch (thrown) {
      const failure = signal.aborted ? undefined : toGatewayFailure(thrown);
      const isTriedAgain = await watch.failed(failure, characters());
      if (failure === undefined) throw signal.reason;
      if (!isTriedAgain || !mayRetry()) throw toError(failure, tries);
    }
  }
}
