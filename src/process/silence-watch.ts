/** How often it looks, in milliseconds. */
const LOOK_EVERY_MS = 500;

/**
 * Calls back, once, when somebody who reports all the time has said nothing for `limitMs`. Time in which this process did
 * not run itself counts little: the reports of that time have yet to be read.
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

  /** It has said something. */
  hear(): void {
    this.#silentMs = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
