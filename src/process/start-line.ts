import { availableParallelism } from 'node:os';
import { ApiError } from '../contract/errors.ts';
import { type StartKind, WaitingLine } from './waiting-line.ts';

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
  /** Milliseconds that a chat session may wait for the beginning of its start. Default 60,000. */
  readonly waitMs?: number | undefined;
}

const DEFAULT_WAIT_MS = 60_000;
/** Seconds of `retry-after`. */
const RETRY_AFTER = { min: 1, max: 60 } as const;
/** Starts of the recent past that tell how fast the line moves, and milliseconds of it. */
const RECENT = { starts: 1_000, ms: 30_000 } as const;

/** Admits the starts of environment processes: a machine that starts hundreds of them at once answers nobody meanwhile. */
export class StartLine {
  readonly waitMs: number;
  readonly #limit: number;
  readonly #line = new WaitingLine<StartPlace>();
  /** When the last starts were admitted, oldest first, by `performance.now()`. */
  #admitted: number[] = [];
  #starting = 0;
  #active = 0;

  constructor({ limit = availableParallelism(), waitMs = DEFAULT_WAIT_MS }: StartLineOptions = {}) {
    this.#limit = limit;
    this.waitMs = waitMs;
  }

  get figures(): StartFigures {
    return { active: this.#active, starting: this.#starting, limit: this.#limit, waiting: this.#line.size };
  }

  /**
   * Waits for a place. A run waits as long as its own limits let it.
   *
   * @throws ApiError `capacity_exceeded` with `retry-after` after `waitMs`. @throws the reason of the signal: who goes
   *   away leaves the line.
   */
  enter(kind: StartKind, signal?: AbortSignal): Promise<StartPlace> {
    const limits = kind === 'chat' ? { limitMs: this.waitMs, toRefusal: () => this.refusal() } : {};
    const place = this.#line.wait({ kind, signal, ...limits });
    this.#admit();
    return place;
  }

  /** @param waiting requests that wait elsewhere for a process, for the message. */
  refusal(waiting = 0): ApiError {
    const { active, starting, limit, waiting: here } = this.figures;
    const numbers = `${active} active, ${starting} starting (limit ${limit}), ${here + waiting} waiting`;
    const seconds = Math.round(this.waitMs / 1_000);
    const message = `No environment process was free within ${seconds} s: ${numbers}. Try again later, or let more sessions share a process (sessionsPerProcess)`;
    const retryAfter = this.#retryAfter(here + waiting);
    return new ApiError('capacity_exceeded', message, { headers: { 'retry-after': String(retryAfter) } });
  }

  #admit(): void {
    while (this.#starting < this.#limit && this.#line.next !== undefined) {
      this.#starting += 1;
      this.#admitted.push(performance.now());
      if (this.#admitted.length > 2 * RECENT.starts) this.#admitted = this.#recent();
      this.#line.serve(this.#place());
    }
  }

  #place(): StartPlace {
    let state: 'starting' | 'active' | 'ended' = 'starting';
    const leave = (next: 'active' | 'ended') => {
      const last = state;
      if (last === 'ended' || last === next) return;
      state = next;
      if (last === 'active') this.#active -= 1;
      if (next === 'active') this.#active += 1;
      if (last !== 'starting') return;
      this.#starting -= 1;
      this.#admit();
    };
    return { ready: () => leave('active'), end: () => leave('ended') };
  }

  #recent(): number[] {
    const since = performance.now() - RECENT.ms;
    return this.#admitted.filter((at) => at > since).slice(-RECENT.starts);
  }

  /** Seconds until a line of that length has moved on, by the rate of the recent past. */
  #retryAfter(waiting: number): number {
    const recent = this.#recent();
    const [oldest] = recent;
    if (oldest === undefined) return RETRY_AFTER.max;
    const passedSeconds = Math.max(1, (performance.now() - oldest) / 1_000);
    const seconds = Math.ceil((waiting * passedSeconds) / recent.length);
    return Math.min(RETRY_AFTER.max, Math.max(RETRY_AFTER.min, seconds));
  }
}
