/** A process that holds many sessions. */
export interface Host<Session> {
  /** Resolves when it accepts connections. @throws Error if it cannot be started; then no process is left. */
  start(signal: AbortSignal): Promise<{ readonly sessionsPerProcess: number }>;
  /** Resolves when the process has ended. Never rejects. */
  readonly ended: Promise<unknown>;
  /** Returns a session without opening a connection. */
  session(): Session;
  /** Stops taking new sessions. The host ends with its last session. */
  drain(): void;
  close(): Promise<void>;
}

/** A place in a host. The holder frees it when the session has ended. */
export interface HostPlace<Session> {
  readonly session: Session;
  /** Frees the place. Later calls do nothing. */
  leave(): void;
}

export interface PooledHostOptions {
  /** Number of the host, unique in the pool. */
  readonly id: number;
  readonly codeHash: string | null;
  /** Maximum number of sessions at one time. */
  readonly capacity: number;
  /** Milliseconds without a session after which the host is ended. */
  readonly idleMs: number;
  /** Number of sessions after which it drains. */
  readonly maxServed: number;
  /** Milliseconds after which a draining host is ended even if it still has sessions. */
  readonly drainMs: number;
  /** Called when a session has left its place. */
  readonly onLeft: () => void;
  /** The current time in milliseconds. */
  readonly now: () => number;
}

/**
 * Milliseconds of lag, or without a report, after which a host counts as stuck. Reports arrive each second, and a host
 * is killed after 10 s.
 */
const STUCK_MS = 3_000;

/** A started host: open for sessions, draining, or ended. */
export class PooledHost<Session> {
  readonly options: PooledHostOptions;
  readonly #host: Host<Session>;
  #lagMs = 0;
  #reportedAt: number;
  #state: 'open' | 'draining' | 'ended' = 'open';
  #sessions = 0;
  #served = 0;
  /** Ends the host after it was idle or draining for too long. */
  #timer: NodeJS.Timeout | undefined;

  constructor(host: Host<Session>, options: PooledHostOptions) {
    this.#host = host;
    this.options = options;
    this.#reportedAt = options.now();
    void host.ended.then(() => this.#enter('ended'));
    this.#endWhenIdle();
  }

  get state(): 'open' | 'draining' | 'ended' {
    return this.#state;
  }

  get sessions(): number {
    return this.#sessions;
  }

  /** Lag of its event loop in milliseconds: the 99th percentile of the last 10 seconds. */
  get lagMs(): number {
    return this.#lagMs;
  }

  /** Number of free places. 0 while it seems to be stuck, because a new session would hang there. */
  get freePlaces(): number {
    return this.#state !== 'open' || this.isStuck ? 0 : Math.max(0, this.options.capacity - this.#sessions);
  }

  /** True if its event loop hardly runs, or if it has not reported for long. */
  get isStuck(): boolean {
    return this.#lagMs > STUCK_MS || this.options.now() - this.#reportedAt > STUCK_MS;
  }

  /** Stores a report about the lag of its event loop. */
  report(lagMs: number): void {
    this.#lagMs = lagMs;
    this.#reportedAt = this.options.now();
  }

  /** Resolves when the process has ended. Never rejects. */
  get ended(): Promise<unknown> {
    return this.#host.ended;
  }

  place(): HostPlace<Session> {
    clearTimeout(this.#timer);
    this.#sessions += 1;
    this.#served += 1;
    if (this.#served >= this.options.maxServed) this.drain();
    let hasLeft = false;
    return {
      session: this.#host.session(),
      leave: () => {
        if (hasLeft) return;
        hasLeft = true;
        this.#sessions -= 1;
        if (this.#sessions === 0 && this.#state === 'draining') void this.end();
        else this.#endWhenIdle();
        this.options.onLeft();
      },
    };
  }

  drain(): void {
    if (this.#state !== 'open') return;
    if (this.#sessions === 0) {
      void this.end();
      return;
    }
    this.#enter('draining');
    this.#host.drain();
    this.#timer = setTimeout(() => void this.end(), this.options.drainMs).unref();
  }

  /** Ends the host. Resolves when the process has ended. Never rejects. */
  async end(): Promise<void> {
    this.#enter('ended');
    await this.#host.close();
  }

  #enter(state: 'draining' | 'ended'): void {
    clearTimeout(this.#timer);
    this.#state = state;
  }

  #endWhenIdle(): void {
    if (this.#sessions > 0 || this.#state !== 'open') return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.end(), this.options.idleMs).unref();
  }
}
