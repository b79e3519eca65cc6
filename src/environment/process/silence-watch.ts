import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { startTicker, type Ticker } from '../../support/runtime/ticker.ts';

/**
 * Calls back once if a regular reporter has been silent for `limitMs`. A pause of this process itself counts as at most
 * two checks, because the reports of that time have not been read yet.
 */
export class SilenceWatch {
  readonly #limitMs: number;
  readonly #onSilent: (silentMs: number) => void;
  #silentMs = 0;
  #ticker: Ticker | undefined;

  constructor(limitMs: number, onSilent: (silentMs: number) => void) {
    this.#limitMs = limitMs;
    this.#onSilent = onSilent;
  }

  start(): void {
    let lookedAt = performance.now();
    this.#ticker ??= startTicker(() => {
      const now = performance.now();
      this.#silentMs += Math.min(now - lookedAt, 2 * PERIODS_MS.silence);
      lookedAt = now;
      if (this.#silentMs < this.#limitMs) return;
      this.stop();
      this.#onSilent(Math.round(this.#silentMs));
    }, PERIODS_MS.silence);
  }

  /** Records a report, which restarts the limit. */
  hear(): void {
    this.#silentMs = 0;
  }

  stop(): void {
    this.#ticker?.stop();
  }
}
