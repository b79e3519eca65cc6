import { BoundaryError } from '../contract/errors.ts';
import { WaitingLine } from '../process/waiting-line.ts';
import type { HoldState } from './hold-rows.ts';

export interface HoldTiming {
  /** Milliseconds between two probes. */
  readonly probeEveryMs: number;
  /** Probes without an answer after which the gateway is given up. */
  readonly probes: number;
}

/** One probe every 10 s, for 10 minutes (contract section 7, "Reruns"). */
export const HOLD_TIMING: HoldTiming = { probeEveryMs: 10_000, probes: 60 };

/** Failures in a row after which a gateway is away. */
const FAILURES = 3;

/** How a try gets past. */
export interface Passage {
  /** Whether it waited until the gateway was back. */
  readonly wasHeld: boolean;
  /** Whether it is the one try that finds out whether the gateway is back. */
  readonly isProbe: boolean;
  /** Which hold it has passed last: later ones are not ended by its success. */
  readonly holds: number;
}

/**
 * Whether a gateway is away, as this worker knows it. Calls wait until it is back; one of them at a time finds that out.
 * `GatewayLimits` tells the other workers.
 */
export class GatewayHold {
  readonly #timing: HoldTiming;
  readonly #line = new WaitingLine<Passage>();
  #failures = 0;
  #holds = 0;
  /** Undefined: it is not held. `since` is when its version was seen first, by `performance.now()`. */
  #held: { readonly version: number | undefined; readonly since: number } | undefined;

  constructor(timing: HoldTiming) {
    this.#timing = timing;
  }

  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /** Whether a waiting call should find out now whether the gateway is back. */
  get isProbeDue(): boolean {
    const { probeEveryMs } = this.#timing;
    return this.#held !== undefined && this.#line.size > 0 && performance.now() - this.#held.since >= probeEveryMs;
  }

  /** @throws BoundaryError boundary `model` where the gateway is given up; the reason of the signal. */
  async pass(signal: AbortSignal): Promise<Passage> {
    if (this.#held === undefined) return { wasHeld: false, isProbe: false, holds: this.#holds };
    return await this.#line.wait({ kind: 'run', signal });
  }

  /** @returns whether the gateway has become held by it. */
  failed(): boolean {
    if (this.#held !== undefined) return false;
    this.#failures += 1;
    if (this.#failures < FAILURES) return false;
    this.hold();
    return true;
  }

  /** The gateway has answered something. @returns whether it is held no more by that. */
  answered({ holds }: Passage): boolean {
    if (this.#held === undefined) {
      this.#failures = 0;
      return false;
    }
    // A response that began before it went away may still end well.
    if (holds < this.#holds) return false;
    this.release();
    return true;
  }

  /** @param state what all workers know of it; undefined where they do not know yet. */
  hold(state?: HoldState): void {
    if (this.#held === undefined) this.#holds += 1;
    if (this.#held === undefined || this.#held.version !== state?.version) {
      this.#held = { version: state?.version, since: performance.now() };
    }
  }

  release(): void {
    this.#held = undefined;
    this.#failures = 0;
    const passage = { wasHeld: true, isProbe: false, holds: this.#holds };
    while (this.#line.serve(passage));
  }

  /** Lets one call find out whether the gateway is back. */
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
