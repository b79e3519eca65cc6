import type { Usage } from '../../contract/chat.ts';
import type { GatewayFailure } from '../gateway-failure.ts';

/** Controls the model calls of one session: lets them wait, and gets their results. */
export interface CallGuard {
  /** Starts one call with all of its tries. */
  begin(call: GuardedCall): CallWatch;
}

export interface GuardedCall {
  /** Request body for the gateway. */
  readonly body: object;
  readonly signal: AbortSignal;
  /** `onWait` of the request. */
  readonly onWait: OnWait | undefined;
}

/** Called when a call starts to wait before a try. Returns a function to call after the wait. */
export type OnWait = (why?: Error) => () => void;

export interface CallWatch {
  /**
   * Waits until a try may be sent.
   *
   * @returns the most tokens of the response, if the call does not limit them itself; null for no limit.
   * @throws BoundaryError boundary `model`, which ends the call; the signal's reason.
   */
  enter(): Promise<number | null>;
  /** Reports a successful try. @param characters of the model's output. Never rejects. */
  succeeded(usage: Usage, characters: number): Promise<void>;
  /**
   * Reports a failed or aborted try; an aborted one has no failure. Waits until the time for the next try, if there is
   * one.
   *
   * @param characters that had arrived. @returns whether the call tries again.
   * @throws the signal's reason.
   */
  failed(failure: GatewayFailure | undefined, characters: number): Promise<boolean>;
}
