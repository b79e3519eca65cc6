/** A process that holds many sessions, as the pool sees it. */
export interface Host<Session> {
  /** Resolves when it takes connections. @throws Error when it cannot be started: nothing of it is left. */
  start(signal: AbortSignal): Promise<{ readonly sessionsPerProcess: number }>;
  /** Resolves when it is gone. Never rejects. */
  readonly ended: Promise<unknown>;
  /** Opens nothing yet. */
  session(): Session;
  /** It takes no new session, and ends with the last one. */
  drain(): void;
  close(): Promise<void>;
}

/** A place in a host. Its holder leaves it when the session has ended. */
export interface HostPlace<Session> {
  readonly session: Session;
  /** Later calls do nothing. */
  leave(): void;
}

export interface PooledHostOptions {
  /** Unique among the hosts of the pool. */
  readonly id: number;
  readonly codeHash: string | null;
  /** Sessions that it holds at one time. */
  readonly capacity: number;
  /** Milliseconds after which it is ended when it has no session. */
  readonly idleMs: number;
  /** Sessions after which it drains. */
  readonly maxServed: number;
  /** Milliseconds after which it is ended while it drains, with the sessions that it still has. */
  readonly drainMs: number;
  /** Called when a session has left its place. */
  readonly onLeft: () => void;
  /** Milliseconds. */
  readonly now: () => number;
}

/** Milliseconds of lag, and without a report, of which one comes each second. Our choice: a host is killed after 10 s. */
const STUCK_MS = 3_000;

/** A host that has started: open for sessions, draining, or ended. */
export class PooledHost<Session> {
  readonly options: PooledHostOptions;
  readonly #host: Host<Session>;
  #lagMs = 0;
  #reportedAt: number;
  #state: 'open' | 'draining' | 'ended' = 'open';
  #sessions = 0;
  #served = 0;
  /** Ends it while it is idle, or when it has drained for too long. */
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

  /** p99 of the lag of its event loop in the last 10 s, in milliseconds. */
  get lagMs(): number {
    return this.#lagMs;
  }

  /** None while it seems to be stuck: a session would wait there for its end. */
  get freePlaces(): number {
    return this.#state !== 'open' || this.isStuck ? 0 : Math.max(0, this.options.capacity - this.#sessions);
  }

  /** Whether its event loop hardly turns, or nothing has been heard of it for long. */
  get isStuck(): boolean {
    return this.#lagMs > STUCK_MS || this.options.now() - this.#reportedAt > STUCK_MS;
  }

  /** It has told of its event loop. */
  report(lagMs: number): void {
    this.#lagMs = lagMs;
    this.#reportedAt = this.options.now();
  }

  /** Resolves when its process is gone. Never rejects. */
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

  /** Resolves when it is gone. Never rejects. */
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
