import { LeaseLostError } from '../database/row-lease.ts';
import { LEASE, type Lease, type RunQueue } from './run-queue.ts';

/** Renews leases while their runs go on. Its creator closes it. */
export interface LeaseKeeper {
  /**
   * Renews the lease until the returned function is called.
   *
   * @param onLost called once when another worker may have taken the run. The lease is no longer renewed.
   */
  keep(lease: Lease, onLost: (error: Error) => void): () => void;
  /** Stops all renewals. Leases still held run out. */
  close(): Promise<void>;
}

export interface LeaseRenewerOptions {
  /** Called with temporary failures to renew. */
  readonly warn?: ((error: unknown) => void) | undefined;
  /** When it returns false, nothing is renewed and no lease is reported as lost. */
  readonly isAlive?: (() => boolean) | undefined;
  /** For tests: milliseconds between renewals. Default 3,000. */
  readonly renewEveryMs?: number | undefined;
}

interface LeaseEntry {
  readonly lease: Lease;
  readonly onLost: (error: Error) => void;
  /** Expiry of the lease, by `performance.now()`. */
  until: number;
}

/** The error for a lease that ran out, or whose entry is gone. */
export function runLost(): LeaseLostError {
  return new LeaseLostError('The lease ran out and another worker has taken the run');
}

/** Renews all leases of a queue together, every 3 s (contract section 3, "Durability"). */
export class LeaseRenewer implements LeaseKeeper {
  readonly #queue: Pick<RunQueue, 'renew'>;
  readonly #options: LeaseRenewerOptions;
  readonly #held = new Map<string, LeaseEntry>();
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

  /** Stops renewing a lease that was completed, given back, or left to run out. */
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
    // An unresponsive database may block a renewal for longer than a lease lasts.
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
        if (lost.has(held.lease.token)) this.#lose(held, runLost());
        else held.until = askedAt + held.lease.leaseMs;
      }
    } catch (error) {
      // The failure may be temporary: a lease is lost only when it has run out.
      this.#options.warn?.(error);
      this.#loseExpired(asked);
    }
  }

  #loseExpired(some: readonly LeaseEntry[]): void {
    for (const held of some) if (performance.now() >= held.until) this.#lose(held, runLost());
  }

  #lose({ lease, onLost }: LeaseEntry, error: Error): void {
    // A lease that was dropped during the renewal was completed or given back.
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
