import { GatewayFailure } from '../gateway-failure.ts';

/** Just below the 300 s of silence after which Node's `fetch` fails. */
export const DEFAULT_IDLE_TIMEOUT_MS = 290_000;

export interface SilenceLimit {
  /** Aborted with the caller's reason, or with `silence` after too long a silence. */
  readonly signal: AbortSignal;
  readonly silence: GatewayFailure | undefined;
  readonly onSignOfLife: () => void;
  /** Stops the timer and the listener on the caller's signal. */
  end(): void;
  /** Like `end`, and closes a connection that was not read to its end. */
  cut(): void;
}

/** Aborts a request whose gateway sends nothing for too long. */
export function limitSilence(signal: AbortSignal, idleTimeoutMs: number): SilenceLimit {
  const controller = new AbortController();
  let silence: GatewayFailure | undefined;
  const onAbort = () => controller.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => {
    silence = new GatewayFailure('silent', `the gateway sent nothing for ${idleTimeoutMs / 1_000} s`);
    controller.abort(silence);
  }, idleTimeoutMs);
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  };
  return {
    signal: controller.signal,
    get silence() {
      return silence;
    },
    onSignOfLife: () => void timer.refresh(),
    end,
    cut: () => {
      end();
      controller.abort(OVER);
    },
  };
}

/** Shared by all requests, because making an error takes longer than the abort. */
const OVER = new Error('The request is over');
