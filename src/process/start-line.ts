import { availableParallelism } from 'node:os';
import { ApiError } from '../contract/errors.ts';

/** Who waits for a process. Chat sessions and runs take turns; spares are started when nobody else waits. */
export type StartKind = 'chat' | 'run' | 'spare';

/** The figures of the line, for gauges and refusals. */
export interface StartFigures {
  /** Processes that have started and run. */
  readonly active: number;
  /** Processes that are being started. */
  readonly starting: number;
  /** Processes that may be started at one time. */
  readonly limit: number;
  /** Starts that wait in the line. */
  readonly waiting: number;
}

/** The right to start one process. Its holder ends it, however the start goes. */
export interface StartPlace {
  /** The process has answered its first message: the next in line may start. */
  ready(): void;
  /** The process is gone, or was never started. Later calls do nothing. */
  end(): void;
}

export interface StartLineOptions {
  /** Processes that are started at one time. Default: the number of cores. */
  readonly limit?: number | undefined;
  /** Milliseconds that a start may wait for its beginning. Default 60,000. */
  readonly waitMs?: number | undefined;
}

const DEFAULT_WAIT_MS = 60_000;
/** Seconds of `retry-after`. */
const RETRY_AFTER = { min: 1, max: 60 } as const;
/** Milliseconds of the recent past that tell how fast the line moves. */
const RATE_WINDOW_MS = 30_000;

interface Waiting {
  readonly begin: (place: StartPlace) => void;
}

/**
 * Admits the starts of environment processes: a machine that starts hundreds of them at once answers nobody meanwhile.
 * Starts of one kind begin in order of arrival.
 */
export class StartLine {
  readonly #limit: number;
  readonly #waitMs: number;
  readonly #lines: Readonly<Record<StartKind, Set<Waiting>>> = { chat: new Set(), run: new Set(), spare: new Set() };
  /** When the last starts were admitted, oldest first, by `performance.now()`. */
  #admitted: number[] = [];
  #starting = 0;
  #active = 0;
  #lastKind: StartKind = 'run';

  constructor({ limit = availableParallelism(), waitMs = DEFAULT_WAIT_MS }: StartLineOptions = {}) {
    this.#limit = limit;
    this.#waitMs = waitMs;
  }

  get figures(): StartFigures {
    const { chat, run, spare } = this.#lines;
    return {
      active: this.#active,
      starting: this.#starting,
      limit: this.#limit,
      waiting: chat.size + run.size + spare.size,
    };
  }

  /** Whether somebody waits who is no spare. */
  get isBusy(): boolean {
    return this.#lines.chat.size + this.#lines.run.size > 0;
  }

  /**
   * Waits for a place.
   *
   * @throws ApiError `capacity_exceeded` with `retry-after` after `waitMs`. @throws the reason of the signal: who goes
   *   away leaves the line.
   */
  enter(kind: StartKind, signal?: AbortSignal): Promise<StartPlace> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const line = this.#lines[kind];
      const leave = (reason: unknown) => {
        line.delete(waiting);
        stopWaiting();
        reject(reason);
      };
      const onAbort = () => leave(signal?.reason);
      const timer = setTimeout(() => leave(this.#refusal()), this.#waitMs);
      const stopWaiting = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const waiting: Waiting = {
        begin: (place) => {
          stopWaiting();
          resolve(place);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      line.add(waiting);
      this.#admit();
    });
  }

  #admit(): void {
    while (this.#starting < this.#limit) {
      const kind = this.#nextKind();
      if (kind === undefined) return;
      const [first] = this.#lines[kind];
      if (first === undefined) return;
      this.#lines[kind].delete(first);
      if (kind !== 'spare') this.#lastKind = kind;
      this.#starting += 1;
      this.#remember();
      first.begin(this.#place());
    }
  }

  #nextKind(): StartKind | undefined {
    const { chat, run, spare } = this.#lines;
    if (chat.size > 0 && run.size > 0) return this.#lastKind === 'chat' ? 'run' : 'chat';
    if (chat.size > 0) return 'chat';
    if (run.size > 0) return 'run';
    return spare.size > 0 ? 'spare' : undefined;
  }

  #place(): StartPlace {
    let state: 'starting' | 'active' | 'ended' = 'starting';
    return {
      ready: () => {
        if (state !== 'starting') return;
        state = 'active';
        this.#starting -= 1;
        this.#active += 1;
        this.#admit();
      },
      end: () => {
        if (state === 'starting') this.#starting -= 1;
        if (state === 'active') this.#active -= 1;
        const wasStarting = state === 'starting';
        state = 'ended';
        if (wasStarting) this.#admit();
      },
    };
  }

  #remember(): void {
    const now = performance.now();
    this.#admitted.push(now);
    if (this.#admitted.length > 1_000) this.#admitted = this.#recent(now);
  }

  #recent(now: number): number[] {
    return this.#admitted.filter((at) => now - at < RATE_WINDOW_MS).slice(-1_000);
  }

  #refusal(): ApiError {
    const { active, starting, limit, waiting } = this.figures;
    const numbers = `${active} active, ${starting} starting (limit ${limit}), ${waiting} waiting`;
    const seconds = Math.round(this.#waitMs / 1_000);
    const message = `No environment process could be started within ${seconds} s: ${numbers}. Try again later, or allow more sessions in one process (sessionsPerProcess)`;
    return new ApiError('capacity_exceeded', message, { headers: { 'retry-after': String(this.#retryAfter()) } });
  }

  /** Seconds until the line that is there now has moved on, by the rate of the recent past. */
  #retryAfter(): number {
    const now = performance.now();
    const recent = this.#recent(now);
    const [oldest] = recent;
    if (oldest === undefined) return RETRY_AFTER.max;
    const passedSeconds = Math.max(1, (now - oldest) / 1_000);
    const seconds = Math.ceil((this.figures.waiting * passedSeconds) / recent.length);
    return Math.min(RETRY_AFTER.max, Math.max(RETRY_AFTER.min, seconds));
  }
}
