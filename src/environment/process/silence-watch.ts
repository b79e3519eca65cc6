/** Milliseconds between two checks for silence. */
const LOOK_EVERY_MS = 500;

/**
 * Calls back once if a regular reporter has been silent for `limitMs`. A pause of this process itself counts as at most
 * two checks, because the reports of that time have not been read yet.
 */
export class SilenceWatch {
  readonly #limitMs: number;
  readonly #onSilent: (silentMs: number) => void;
  #silentMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number, onSilent: (silentMs: number) => void) {
    this.#limitMs = limitMs;
    this.#onSilent = onSilent;
  }

  start(): void {
    let lookedAt = performance.now();
    this.#timer ??= setInterval(() => {
      const now = performance.now();
      this.#silentMs += Math.min(now - lookedAt, 2 * LOOK_EVERY_MS);
      lookedAt = now;
      if (this.#silentMs < this.#limitMs) return;
      this.stop();
      this.#onSilent(Math.round(this.#silentMs));
    }, LOOK_EVERY_MS).unref();
  }

  /** Records a report, which restarts the limit. */
  hear(): void {
    this.#silentMs = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
