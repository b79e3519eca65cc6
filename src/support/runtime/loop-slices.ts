import { AsyncResource } from 'node:async_hooks';
// Imported instead of the global one, because a test that replaces the global one would leave a turn that never ends.
import { setImmediate } from 'node:timers';

export interface LoopSlicesOptions {
  /** Milliseconds of work in one turn of the event loop. Default 5. */
  readonly sliceMs?: number | undefined;
  /** Longest time in milliseconds that incoming connections may delay work. Default 50. */
  readonly postponeMs?: number | undefined;
  readonly now?: (() => number) | undefined;
}

const SLICE_MS = 5;
const POSTPONE_MS = 50;

/**
 * Shares the event loop between the work of many sessions and other tasks. When answers of hundreds of sessions arrive
 * at once, Node.js would handle all of them in one turn, but accept only one connection per turn. Work beyond a time
 * slice waits for later turns, in order of arrival.
 */
export class LoopSlices {
  readonly #sliceMs: number;
  readonly #postponeMs: number;
  readonly #now: () => number;
  #waiting: (() => void)[] = [];
  /** Start of the slice in this turn; undefined before the turn's first work. */
  #startedAt: number | undefined;
  /** Time since which incoming connections have delayed work; undefined while they do not. */
  #postponedAt: number | undefined;
  #hasAccepted = false;

  constructor({ sliceMs = SLICE_MS, postponeMs = POSTPONE_MS, now = () => performance.now() }: LoopSlicesOptions = {}) {
    this.#sliceMs = sliceMs;
    this.#postponeMs = postponeMs;
    this.#now = now;
  }

  /** Runs the work now when this turn has time left, else in a later turn. Its async context is kept. */
  run(work: () => void): void {
    if (this.#waiting.length === 0 && this.#isOpen()) work();
    else this.#waiting.push(AsyncResource.bind(work));
  }

  /** Resolves in the caller's turn; returns undefined when this turn still has time. */
  turn(): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#isOpen()) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /**
   * Call it when a connection was accepted. More may be waiting, and each takes a turn of the loop, so work is delayed
   * for a moment.
   */
  onAccepted(): void {
    this.#isOpen();
    this.#hasAccepted = true;
    this.#postponedAt ??= this.#now();
  }

  #isOpen(): boolean {
    if (this.#startedAt !== undefined) return !this.#hasAccepted && this.#now() - this.#startedAt < this.#sliceMs;
    this.#startedAt = this.#now();
    setImmediate(this.#endTurn);
    return true;
  }

  readonly #endTurn = (): void => {
    const now = this.#now();
    const isPostponed =
      this.#hasAccepted && this.#postponedAt !== undefined && now - this.#postponedAt < this.#postponeMs;
    this.#hasAccepted = false;
    if (!isPostponed) this.#postponedAt = undefined;
    if (this.#waiting.length === 0) {
      this.#startedAt = undefined;
      this.#postponedAt = undefined;
      return;
    }
    setImmediate(this.#endTurn);
    this.#startedAt = now;
    if (!isPostponed) this.#serve();
  };

  /** Runs one piece of work. Its promise callbacks, usually most of the work, run before the next piece. */
  readonly #serve = (): void => {
    const [first] = this.#waiting.splice(0, 1);
    if (first === undefined) return;
    queueMicrotask(() => process.nextTick(this.#serveNext));
    first();
  };

  readonly #serveNext = (): void => {
    if (this.#startedAt !== undefined && this.#now() - this.#startedAt < this.#sliceMs) this.#serve();
  };
}

/** The instance of this thread, which has one event loop. */
export const loopSlices = new LoopSlices();
