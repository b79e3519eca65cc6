import { BoundaryError } from '../../../contract/errors.ts';
import { FairQueue } from '../../../environment/process/waiting-line.ts';
import type { HoldState } from './hold-rows.ts';

export interface HoldTiming {
  /** Milliseconds between two probes. */
  readonly probeEveryMs: number;
  /** Failed probes until the gateway is given up. */
  readonly probes: number;
}

/** One probe every 10 s, for 10 minutes (contract section 7, "Reruns"). */
export const HOLD_TIMING: HoldTiming = { probeEveryMs: 10_000, probes: 60 };

/** Consecutive failures until a gateway counts as down. */
const FAILURES = 3;

/** The result of passing the breaker. */
export interface Permit {
  /** True if the try waited until the gateway was back. */
  readonly wasHeld: boolean;
  /** True for the one try that tests whether the gateway is back. */
  readonly isProbe: boolean;
  /** Number of the last hold that the try has passed. Its success does not end later holds. */
  readonly holds: number;
}

/**
 * Whether a gateway is down, from this worker's view. Calls wait until it is back, and one call at a time tests that.
 * `GatewayLimits` informs the other workers.
 */
export class CircuitBreaker {
  readonly #timing: HoldTiming;
  readonly #line = new FairQueue<Permit>();
  #failures = 0;
  #holds = 0;
  /**
   * Current hold; undefined without one. `since` is the time when its version was first seen, by `performance.now()`.
   */
  #held: { readonly version: number | undefined; readonly since: number } | undefined;

  constructor(timing: HoldTiming) {
    this.#timing = timing;
  }

  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /** True if a waiting call should test the gateway now. */
  get isProbeDue(): boolean {
    const { probeEveryMs } = this.#timing;
    return this.#held !== undefined && this.#line.size > 0 && performance.now() - this.#held.since >= probeEveryMs;
  }

  /** Waits until the gateway is back. @throws BoundaryError boundary `model` if it is given up; the signal's reason. */
  async pass(signal: AbortSignal): Promise<Permit> {
    if (this.#held === undefined) return { wasHeld: false, isProbe: false, holds: this.#holds };
    return await this.#line.wait({ kind: 'run', signal });
  }

  /** Counts a failure. @returns true if it starts a hold. */
  failed(): boolean {
    if (this.#held !== undefined) return false;
    this.#failures += 1;
    if (this.#failures < FAILURES) return false;
    this.hold();
    return true;
  }

  /** Counts an answer. @returns true if it ends the hold. */
  answered({ holds }: Permit): boolean {
    if (this.#held === undefined) {
      this.#failures = 0;
      return false;
    }
    // A response that began before the outage proves nothing.
    if (holds < this.#holds) return false;
    this.release();
    return true;
  }

  /** Starts or updates the hold. @param state of all workers; undefined if they do not know it yet. */
  hold(state?: HoldState): void {
    if (this.#held === undefined) this.#holds += 1;
    if (this.#held === undefined || this.#held.version !== state?.version) {
      this.#held = { version: state?.version, since: performance.now() };
    }
  }

  release(): void {
    this.#held = undefined;
    this.#failures = 0;
    const permit = { wasHeld: true, isProbe: false, holds: this.#holds };
    while (this.#line.serve(permit));
  }

  /** Lets one call test whether the gateway is back. */
  probe(state: HoldState): void {
    this.hold(state);
    this.#line.serve({ wasHeld: true, isProbe: true, holds: this.#holds });
  }

  giveUp(): void {
    this.#held = undefined;
    this.#failures = 0;
    const { probes, probeEveryMs } = this.#timing;
    const seconds = Math.round((probes * probeEveryMs) / 1_000);
    const message = `The gateway was away for ${seconds} s: it was asked ${probes} times and did not answer. Check that it is up`;
    this.#line.refuse(new BoundaryError('model', 'model_failed', message));
  }
}
