import { LEASE, type Lease, type RunQueue } from './run-queue.ts';

/** Renews leases while their runs go on. Its creator closes it. */
export interface LeaseKeeper {
  /**
   * Renews the lease until the result is called.
   *
   * @param onLost called once when another worker may have the run; the lease is not renewed any more.
   */
  keep(lease: Lease, onLost: (error: Error) => void): () => void;
  /** Renews nothing any more: what is held runs out. */
  close(): Promise<void>;
}

export interface LeaseRenewerOptions {
  /** Takes failures to renew that may pass. */
  readonly warn?: ((error: unknown) => void) | undefined;
  /** False: nothing is renewed now, and every lease is kept as it is. */
  readonly isAlive?: (() => boolean) | undefined;
  /** For tests: milliseconds between renewals. Default 3,000. */
  readonly renewEveryMs?: number | undefined;
}

interface Held {
  readonly lease: Lease;
  readonly onLost: (error: Error) => void;
  /** By `performance.now()`. */
  until: number;
}

/** The lease ran out, or the entry is gone. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';

  constructor() {
    super('The lease ran out and another worker has taken the run');
  }
}

/** Renews all leases of a queue together, every 3 s (contract section 3, "Durability"). */
export class LeaseRenewer implements LeaseKeeper {
  readonly #queue: Pick<RunQueue, 'renew'>;
  readonly #options: LeaseRenewerOptions;
  readonly #held = new Map<string, Held>();
  #timer: NodeJS.Timeout | undefined;
  #renewal: Promise<void> | undefined;

  constructor(queue: Pick<RunQueue, 'renew'>, options: LeaseRenewerOptions = {}) {
    this.#queue = queue;
    this.#options = options;
  }

  keep(lease: Lease, onLost: (error: Error) => void): () => void {
    this.#held.set(lease.token, { lease, onLost, until: performance.now() + lease.leaseMs });
    this.#timer ??= setInterval(() => this.#tick(), this.#options.renewEveryMs ?? LEASE.renewEveryMs);
    return () => this.drop(lease);
  }

  /** The lease is completed, given back, or left to run out. */
  drop({ token }: Lease): void {
    this.#drop(token);
  }

  async close(): Promise<void> {
    this.#held.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#renewal;
  }

  #tick(): void {
    if (this.#options.isAlive?.() === false) return;
    // A database that does not answer holds a renewal for longer than a lease lasts.
    if (this.#renewal !== undefined) this.#loseExpired([...this.#held.values()]);
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined;
    });
  }

  async #renew(): Promise<void> {
    const asked = [...this.#held.values()];
    const askedAt = performance.now();
    try {
      const lost = new Set((await this.#queue.renew(asked.map(({ lease }) => lease))).map(({ token }) => token));
      for (const held of asked) {
        if (lost.has(held.lease.token)) this.#lose(held, new LeaseLostError());
        else held.until = askedAt + held.lease.leaseMs;
      }
    } catch (error) {
      // The database may be away for a moment: a lease is lost when it has run out.
      this.#options.warn?.(error);
      this.#loseExpired(asked);
    }
  }

  #loseExpired(some: readonly Held[]): void {
    for (const held of some) if (performance.now() >= held.until) this.#lose(held, new LeaseLostError());
  }

  #lose({ lease, onLost }: Held, error: Error): void {
    // One that was dropped while it was renewed has been completed or given back.
    if (this.#drop(lease.token)) onLost(error);
  }

  #drop(token: string): boolean {
    const wasHeld = this.#held.delete(token);
    if (this.#held.size > 0) return wasHeld;
    clearInterval(this.#timer);
    this.#timer = undefined;
    return wasHeld;
  }
}
