import type { Usage } from '../contract/chat.ts';
import type { GatewayFailure } from './gateway-failure.ts';

/** Stands before the calls of one session's model: has them wait, and hears how they went. */
export interface CallGuard {
  /** One call, with all of its tries. */
  begin(call: GuardedCall): CallWatch;
}

export interface GuardedCall {
  /** As it is sent to the gateway. */
  readonly body: object;
  readonly signal: AbortSignal;
  /** As that of the request. */
  readonly onWait: OnWait | undefined;
}

/** Called when a call begins to wait before a try. Returns what is called once the wait is over. */
export type OnWait = (why?: Error) => () => void;

export interface CallWatch {
  /**
   * Waits until a try may be sent.
   *
   * @returns the tokens that its response may have, where the call says nothing of it; null: no limit.
   * @throws BoundaryError boundary `model`, which ends the call; the reason of the signal.
   */
  enter(): Promise<number | null>;
  /** The try brought the response. @param characters of what the model said. Never rejects. */
  succeeded(usage: Usage, characters: number): Promise<void>;
  /**
   * The try failed, or was aborted: then there is no failure. Where another try follows, waits until its time has come.
   *
   * @param characters that had come by then. @returns whether the call tries again.
   * @throws the reason of the signal.
   */
  failed(failure: GatewayFailure | undefined, characters: number): Promise<boolean>;
}
