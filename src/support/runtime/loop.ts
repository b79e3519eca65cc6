import { setImmediate as nextTurn } from 'node:timers/promises';

export interface LoopOptions {
  /**
   * Does the work that is due. The signal is aborted when the loop stops.
   *
   * @returns optionally the milliseconds to rest, in place of `restMs`.
   */
  look(signal: AbortSignal): unknown;
  /** Milliseconds between two looks. */
  readonly restMs: number;
  /** Called when `look` fails. The loop goes on, even if this throws too; then the process emits a warning. */
  onError(error: unknown): void;
  /** True runs `look` at once, false rests first. Default false. */
  readonly looksAtOnce?: boolean;
  /** True keeps the process alive. Default false. */
  readonly keepsAlive?: boolean;
}

/** A background loop. Its creator stops it. */
export interface Loop {
  /** Requests a run within `withinMs`. During a run the loop will run once more. */
  wake(withinMs?: number): void;
  /** Resolves when the current run is over. It never rejects. */
  stop(): Promise<void>;
}

/**
 * Starts a background loop, which calls `look`, rests, and can be woken. Only one `look` runs at a time.
 *
 * @example
 * const loop = startLoop({ look: () => sweep(), restMs: 15_000, onError: (error) => console.error(error) });
 * await loop.stop();
 */
export function startLoop(options: LoopOptions): Loop {
  return new BackgroundLoop(options);
}

class BackgroundLoop implements Loop {
  readonly #options: LoopOptions;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #dueAt = 0;
  #looking: Promise<void> | undefined;
  /** The earliest requested run, among requests during the current run. */
  #wokenWithinMs: number | undefined;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.wake(options.looksAtOnce === true ? 0 : options.restMs);
  }

  wake(withinMs = 0): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#looking !== undefined) {
      this.#wokenWithinMs = Math.min(withinMs, this.#wokenWithinMs ?? withinMs);
      return;
    }
    const at = performance.now() + withinMs;
    if (this.#timer !== undefined && this.#dueAt <= at) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (withinMs <= 0) {
      this.#begin();
      return;
    }
    this.#dueAt = at;
    this.#timer = setTimeout(() => this.#begin(), withinMs);
    if (this.#options.keepsAlive !== true) this.#timer.unref();
  }

  #begin(): void {
    this.#timer = undefined;
    this.#looking = this.#look().then((restMs) => this.#rest(restMs));
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('The loop is stopped'));
    clearTimeout(this.#timer);
    await this.#looking;
  }

  /** @returns milliseconds to rest. */
  async #look(): Promise<number> {
    const { look, restMs, onError } = this.#options;
    await Promise.resolve(); // The creator's code continues before the first run.
    try {
      const asked = await look(this.#stopping.signal);
      return typeof asked === 'number' ? asked : restMs;
    } catch (error) {
      if (!this.#stopping.signal.aborted) tell(onError, error);
      return restMs;
    } finally {
      await nextTurn(); // A loop without rest lets other work run in between.
    }
  }

  #rest(restMs: number): void {
    const withinMs = Math.min(restMs, this.#wokenWithinMs ?? restMs);
    this.#looking = undefined;
    this.#wokenWithinMs = undefined;
    this.wake(withinMs);
  }
}

function tell(onError: LoopOptions['onError'], error: unknown): void {
  try {
    onError(error);
  } catch (thrown) {
    // Without the catch the loop would end while its process keeps running.
    process.emitWarning(`A background loop could not tell of its error: ${String(thrown)}`);
  }
}
