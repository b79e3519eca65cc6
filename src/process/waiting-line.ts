/** The side that waits for a process. Chat sessions and runs take turns; spares are started when nobody else waits. */
export type StartKind = 'chat' | 'run' | 'spare';

export interface WaitOptions {
  readonly kind: StartKind;
  /** Aborted when the client goes away: it leaves the line. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds to wait. Default: until it is one's turn. */
  readonly limitMs?: number | undefined;
  /**
   * Makes the error of one that has waited too long; undefined where it may wait on for a moment.
   *
   * @param ahead how many are served before it.
   */
  readonly toRefusal?: ((ahead: number) => Error | undefined) | undefined;
}

/** Milliseconds until one that may wait on is asked about again. */
const MOMENT_MS = 100;

/** Requests that wait for a thing there are few of. Those of one kind are served in order of arrival. */
export class WaitingLine<Thing> {
  readonly #lines: Readonly<Record<StartKind, Set<Waiting<Thing>>>> = {
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

  /** Those that have come so far. */
  get arrivals(): number {
    return this.#arrivals;
  }

  /** The kind that is served next; undefined where nobody waits. */
  get next(): StartKind | undefined {
    const { chat, run, spare } = this.#lines;
    if (chat.size > 0 && run.size > 0) return this.#last === 'chat' ? 'run' : 'chat';
    if (chat.size > 0) return 'chat';
    if (run.size > 0) return 'run';
    return spare.size > 0 ? 'spare' : undefined;
  }

  /** @throws the reason of the signal. @throws what `toRefusal` makes after `limitMs`. */
  wait({ kind, signal, limitMs, toRefusal }: WaitOptions): Promise<Thing> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const leave = () => {
        this.#lines[kind].delete(waiting);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      this.#arrivals += 1;
      const waiting: Waiting<Thing> = {
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

  /** The two kinds take turns. */
  #ahead(kind: StartKind, waiting: Waiting<Thing>): number {
    const before = [...this.#lines[kind]].indexOf(waiting);
    const others = this.#lines[kind === 'chat' ? 'run' : 'chat'].size;
    return before + Math.min(others, before + 1);
  }

  /** Gives the thing to the next one. @returns false where nobody waits. */
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
   * Sends those away that have waited longest.
   *
   * @param among by default everybody: at most so many, of the first so many that came.
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

interface Waiting<Thing> {
  readonly arrival: number;
  serve(thing: Thing): void;
  refuse(reason: unknown): void;
}

/** So many at one time. */
export class Limit {
  readonly #line = new WaitingLine<() => void>();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  get waiting(): number {
    return this.#line.size;
  }

  /** @returns the way to leave; later calls do nothing. @throws the reason of the signal. */
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
