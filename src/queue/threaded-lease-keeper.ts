import { Worker } from 'node:worker_threads';
import { builtFile } from '../runtime/built-file.ts';
import { type LeaseKeeper, LeaseLostError, LeaseRenewer } from './lease-keeper.ts';
import type { Lease, RunQueue } from './run-queue.ts';

export interface LeaseThreadData {
  readonly address: string;
  readonly renewEveryMs: number | undefined;
  /** When the main thread last had its turn, in milliseconds since 1970. */
  readonly lastTurn: BigInt64Array;
}

export type LeaseThreadRequest =
  | { readonly kind: 'keep'; readonly lease: Lease }
  | { readonly kind: 'drop'; readonly lease: Lease }
  | { readonly kind: 'close' };

export type LeaseThreadReport =
  | { readonly kind: 'lost'; readonly token: string }
  | { readonly kind: 'warning'; readonly message: string };

/** Milliseconds that a lease is held before the thread starts: most runs in memory have ended by then. */
const START_AFTER_MS = 1_000;
const TURN_EVERY_MS = 1_000;

interface Held {
  readonly lease: Lease;
  readonly onLost: (error: Error) => void;
}

/**
 * Renews leases in a thread with a connection of its own, so that a busy event loop loses no run. A process whose loop
 * does not turn for a minute renews nothing any more.
 */
class ThreadedLeaseKeeper implements LeaseKeeper {
  readonly #queue: RunQueue;
  readonly #options: LeaseKeeperOptions;
  readonly #address: string;
  readonly #held = new Map<string, Held>();
  readonly #lastTurn = new BigInt64Array(new SharedArrayBuffer(8));
  #turns: NodeJS.Timeout | undefined;
  #starting: NodeJS.Timeout | undefined;
  #thread: Worker | undefined;
  /** Takes over when the thread has failed. */
  #fallback: LeaseRenewer | undefined;
  #closing: Promise<void> | undefined;

  constructor(queue: RunQueue, address: string, options: LeaseKeeperOptions) {
    this.#queue = queue;
    this.#address = address;
    this.#options = options;
  }

  keep(lease: Lease, onLost: (error: Error) => void): () => void {
    if (this.#fallback !== undefined) return this.#fallback.keep(lease, onLost);
    this.#held.set(lease.token, { lease, onLost });
    if (this.#thread === undefined) this.#startSoon();
    else this.#ask({ kind: 'keep', lease });
    return () => this.#drop(lease);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#held.clear();
    clearTimeout(this.#starting);
    clearInterval(this.#turns);
    await this.#fallback?.close();
    const thread = this.#thread;
    if (thread === undefined) return;
    // A thread that is ended inside of SQLite takes the process along: it ends by itself.
    const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
    thread.ref(); // Else this process could end before what follows its close.
    this.#ask({ kind: 'close' });
    await ended;
  }

  #startSoon(): void {
    this.#starting ??= setTimeout(() => {
      if (this.#held.size > 0) this.#start();
      else this.#starting = undefined;
    }, this.#options.startAfterMs ?? START_AFTER_MS);
    this.#starting.unref();
  }

  #start(): void {
    const turn = () => Atomics.store(this.#lastTurn, 0, BigInt(Date.now()));
    turn();
    this.#turns = setInterval(turn, TURN_EVERY_MS).unref();
    const { renewEveryMs } = this.#options;
    const workerData: LeaseThreadData = { address: this.#address, renewEveryMs, lastTurn: this.#lastTurn };
    const thread = new Worker(builtFile('queue/lease-thread.js'), { workerData, execArgv: [], name: 'proctor-leases' });
    thread.unref();
    thread.on('message', (report: LeaseThreadReport) => this.#hear(report));
    thread.on('error', (error) => this.#fallBack(error));
    thread.on('exit', () => this.#fallBack(new Error('The thread that renews leases ended')));
    this.#thread = thread;
    for (const { lease } of this.#held.values()) this.#ask({ kind: 'keep', lease });
  }

  #hear(report: LeaseThreadReport): void {
    if (report.kind === 'warning') {
      this.#options.warn?.(new Error(report.message));
      return;
    }
    const held = this.#held.get(report.token);
    this.#held.delete(report.token);
    held?.onLost(new LeaseLostError());
  }

  /** Renews in this thread from now on. */
  #fallBack(error: Error): void {
    if (this.#closing !== undefined || this.#fallback !== undefined) return;
    this.#options.warn?.(error);
    clearInterval(this.#turns);
    this.#thread = undefined;
    this.#fallback = new LeaseRenewer(this.#queue, this.#options);
    for (const { lease, onLost } of this.#held.values()) this.#fallback.keep(lease, onLost);
    this.#held.clear();
  }

  #drop(lease: Lease): void {
    if (this.#held.delete(lease.token)) this.#ask({ kind: 'drop', lease });
    else this.#fallback?.drop(lease);
  }

  #ask(request: LeaseThreadRequest): void {
    this.#thread?.postMessage(request);
  }
}

export interface LeaseKeeperOptions {
  /** Takes failures to renew that may pass. */
  readonly warn?: ((error: unknown) => void) | undefined;
  /** For tests: milliseconds between renewals. Default 3,000. */
  readonly renewEveryMs?: number | undefined;
  /** For tests: milliseconds until the thread starts. Default 1,000. */
  readonly startAfterMs?: number | undefined;
}

/** Renews the leases of a queue: in a thread where another connection to its table can be opened, else in this one. */
export function createLeaseKeeper(queue: RunQueue, options: LeaseKeeperOptions = {}): LeaseKeeper {
  const { leaseAddress } = queue;
  if (leaseAddress === undefined) return new LeaseRenewer(queue, options);
  return new ThreadedLeaseKeeper(queue, leaseAddress, options);
}
