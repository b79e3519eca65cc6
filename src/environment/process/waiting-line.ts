/**
 * The kind of request. Chat sessions and runs take turns; `spare` is for processes that wait for sessions, served last.
 */
export type StartKind = 'chat' | 'run' | 'spare';

export interface WaitOptions {
  readonly kind: StartKind;
  /** Aborted when the client disconnects. The request then leaves the queue. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds to wait. Default: no limit. */
  readonly limitMs?: number | undefined;
  /**
   * Makes the error after the limit. Undefined lets the request wait a moment longer.
   *
   * @param ahead is the number of requests that are served before this one.
   */
  readonly toRefusal?: ((ahead: number) => Error | undefined) | undefined;
}

/** Milliseconds until `toRefusal` is called again. */
const MOMENT_MS = 100;

/** A queue of requests for a scarce thing. Requests of one kind are served in the order of their arrival. */
export class FairQueue<Thing> {
  readonly #lines: Readonly<Record<StartKind, Set<Waiter<Thing>>>> = {
    chat: new Set(),
    run: new Set(),
    spare: new Set(),
  };
  #last: StartKind = 'run';
  #arrivals = 0;

  get size(): number {
    const { chat, run, spare } = this.#lines;
    return chat.size + run.size + spare.size;
  }

  /** Number of requests that have arrived so far. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** The kind that is served next. Undefined if the queue is empty. */
  get next(): StartKind | undefined {
    const { chat, run, spare } = this.#lines;
    if (chat.size > 0 && run.size > 0) return this.#last === 'chat' ? 'run' : 'chat';
    if (chat.size > 0) return 'chat';
    if (run.size > 0) return 'run';
    return spare.size > 0 ? 'spare' : undefined;
  }

  /** @throws the reason of the signal. @throws the error of `toRefusal` after `limitMs`. */
  wait({ kind, signal, limitMs, toRefusal }: WaitOptions): Promise<Thing> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const leave = () => {
        this.#lines[kind].delete(waiting);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      this.#arrivals += 1;
      const waiting: Waiter<Thing> = {
        arrival: this.#arrivals,
        serve(thing) {
          leave();
          resolve(thing);
        },
        refuse(reason) {
          leave();
          reject(reason);
        },
      };
      const onAbort = () => waiting.refuse(signal?.reason);
      const onLate = () => {
        const refusal = toRefusal?.(this.#ahead(kind, waiting));
        if (refusal !== undefined) waiting.refuse(refusal);
        else timer = setTimeout(onLate, MOMENT_MS);
      };
      let timer = limitMs === undefined ? undefined : setTimeout(onLate, limitMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#lines[kind].add(waiting);
    });
  }

  /** Number of requests that are served before this one. The two kinds take turns. */
  #ahead(kind: StartKind, waiting: Waiter<Thing>): number {
    const before = [...this.#lines[kind]].indexOf(waiting);
    const others = this.#lines[kind === 'chat' ? 'run' : 'chat'].size;
    return before + Math.min(others, before + 1);
  }

  /** Gives the thing to the next request. @returns false if the queue is empty. */
  serve(thing: Thing): boolean {
    const kind = this.next;
    if (kind === undefined) return false;
    const [first] = this.#lines[kind];
    if (first === undefined) return false;
    if (kind !== 'spare') this.#last = kind;
    first.serve(thing);
    return true;
  }

  /**
   * Rejects the requests that have waited longest.
   *
   * @param among at most `count` requests, among the first `arrivals` that arrived. Default: all.
   */
  refuse(
    reason: unknown,
    { count, arrivals }: { readonly count: number; readonly arrivals: number } = EVERYBODY,
  ): void {
    const all = Object.values(this.#lines).flatMap((line) => [...line]);
    const meant = all.filter(({ arrival }) => arrival <= arrivals).sort((one, other) => one.arrival - other.arrival);
    for (const waiting of meant.slice(0, count)) waiting.refuse(reason);
  }
}

const EVERYBODY = { count: Number.POSITIVE_INFINITY, arrivals: Number.POSITIVE_INFINITY } as const;

interface Waiter<Thing> {
  readonly arrival: number;
  serve(thing: Thing): void;
  refuse(reason: unknown): void;
}

/** Limits how many callers hold a place at one time. */
export class Limit {
  readonly #line = new FairQueue<() => void>();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  get waiting(): number {
    return this.#line.size;
  }

  /** @returns a function to leave; later calls do nothing. @throws the reason of the signal. */
  async enter(kind: StartKind, signal?: AbortSignal): Promise<() => void> {
    const entered = this.#line.wait({ kind, signal });
    this.#serve();
    return await entered;
  }

  #serve(): void {
    while (this.#free > 0 && this.#line.next !== undefined) {
      this.#free -= 1;
      let hasLeft = false;
      this.#line.serve(() => {
        if (hasLeft) return;
        hasLeft = true;
        this.#free += 1;
        this.#serve();
      });
    }
  }
}
