import { availableParallelism } from 'node:os';
import { ApiError } from '../../contract/errors.ts';
import { FairQueue, type StartKind } from './waiting-line.ts';

/** Numbers of processes and waiting starts, for gauges and refusals. */
export interface StartFigures {
  /** Processes that have started and still run. */
  readonly active: number;
  /** Processes that are starting. */
  readonly starting: number;
  /** Maximum number of processes that start at one time. */
  readonly limit: number;
  /** Starts that wait in the queue. */
  readonly waiting: number;
}

/** The permission to start one process. Its holder has to call `end`, even if the start fails. */
export interface StartPermit {
  /** The process has sent its first message, so the next in the queue may start. */
  ready(): void;
  /** The process has ended or was never started. Later calls do nothing. */
  end(): void;
}

export interface StartLimiterOptions {
  /** Maximum number of processes that start at one time. Default: the number of cores. */
  readonly limit?: number | undefined;
  /** Milliseconds that a chat session may wait until its start begins. Default 60,000. */
  readonly waitMs?: number | undefined;
}

const DEFAULT_WAIT_MS = 60_000;
/** Range of the `retry-after` header in seconds. */
const RETRY_AFTER = { min: 1, max: 60 } as const;
/** Number of recent starts, and milliseconds, from which the speed of the queue is computed. */
const RECENT = { starts: 1_000, ms: 30_000 } as const;

/**
 * Limits how many environment processes start at once. Hundreds of parallel starts would make the machine unresponsive.
 */
export class StartLimiter {
  readonly waitMs: number;
  readonly #limit: number;
  readonly #line = new FairQueue<StartPermit>();
  /** Times of the last admitted starts, oldest first, by `performance.now()`. */
  #admitted: number[] = [];
  #starting = 0;
  #active = 0;

  constructor({ limit = availableParallelism(), waitMs = DEFAULT_WAIT_MS }: StartLimiterOptions = {}) {
    this.#limit = limit;
    this.waitMs = waitMs;
  }

  get figures(): StartFigures {
    return { active: this.#active, starting: this.#starting, limit: this.#limit, waiting: this.#line.size };
  }

  /**
   * Waits for a permission. A run waits without a limit of its own.
   *
   * @param since is the time of the request by `performance.now()`. Default: now.
   * @throws ApiError `capacity_exceeded` with `retry-after` after `waitMs`. @throws the reason of the signal, which
   *   removes the request from the queue.
   */
  enter(kind: StartKind, signal?: AbortSignal, since?: number): Promise<StartPermit> {
    const limits = kind === 'chat' ? { limitMs: this.remainingMs(since), toRefusal: () => this.refusal() } : {};
    const place = this.#line.wait({ kind, signal, ...limits });
    this.#admit();
    return place;
  }

  /** Milliseconds that a request from this time, by `performance.now()`, may still wait. */
  remainingMs(since = performance.now()): number {
    return Math.max(0, since + this.waitMs - performance.now());
  }

  /** @param waiting is the number of requests that wait for a process elsewhere, for the message. */
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

  #place(): StartPermit {
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

  /** Estimated seconds until a queue of this length has been served, from the recent speed. */
  #retryAfter(waiting: number): number {
    const recent = this.#recent();
    const [oldest] = recent;
    if (oldest === undefined) return RETRY_AFTER.max;
    const passedSeconds = Math.max(1, (performance.now() - oldest) / 1_000);
    const seconds = Math.ceil((waiting * passedSeconds) / recent.length);
    return Math.min(RETRY_AFTER.max, Math.max(RETRY_AFTER.min, seconds));
  }
}
