import { AsyncResource } from 'node:async_hooks';
// By import, and not the global one: a test that fakes that for a while would leave a turn that never ends.
import { setImmediate } from 'node:timers';

export interface LoopSlicesOptions {
  /** Milliseconds of work in one turn of the event loop. Default 5. */
  readonly sliceMs?: number | undefined;
  /** Milliseconds that work waits at most while connections come in. Default 50. */
  readonly postponeMs?: number | undefined;
  readonly now?: (() => number) | undefined;
}

const SLICE_MS = 5;
const POSTPONE_MS = 50;

/**
 * Shares the event loop between the work of many sessions and whatever else wants an answer: when the answers of hundreds of
 * sessions arrive at one moment, the loop would else serve all of them in one turn, and it accepts one connection in a turn.
 * Work beyond a slice waits for later turns, in order of arrival.
 */
export class LoopSlices {
  readonly #sliceMs: number;
  readonly #postponeMs: number;
  readonly #now: () => number;
  #waiting: (() => void)[] = [];
  /** When the slice of this turn began; undefined before the first work of a turn. */
  #startedAt: number | undefined;
  /** When connections began to hold up work; undefined while they do not. */
  #postponedAt: number | undefined;
  #hasAccepted = false;

  constructor({ sliceMs = SLICE_MS, postponeMs = POSTPONE_MS, now = () => performance.now() }: LoopSlicesOptions = {}) {
    this.#sliceMs = sliceMs;
    this.#postponeMs = postponeMs;
    this.#now = now;
  }

  /** Runs the work now where this turn of the loop has time left, else in a later one, in its own async context. */
  run(work: () => void): void {
    if (this.#waiting.length === 0 && this.#isOpen()) work();
    else this.#waiting.push(AsyncResource.bind(work));
  }

  /** Resolves when it is the caller's turn; undefined where it is already. */
  turn(): Promise<void> | undefined {
    if (this.#waiting.length === 0 && this.#isOpen()) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** A connection was accepted, and more may wait, of which each takes a turn of the loop: work can wait for a moment. */
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

  /** Promises that the work settles go on first: they are the larger part of it. Those run before the next tick. */
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

/** That of this thread, which has one event loop. */
export const loopSlices = new LoopSlices();
