import { Worker } from 'node:worker_threads';
import { builtFile } from '../../support/runtime/built-file.ts';
import { type KeepAlive, startKeepAlive } from '../../support/runtime/keep-alive.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { type LeaseKeeper, LeaseRenewer, runLost } from './lease-keeper.ts';
import type { Lease, RunQueue } from './run-queue.ts';

export interface LeaseThreadData {
  readonly address: string;
  readonly renewEveryMs: number | undefined;
  /** The last turn of the main thread's event loop, in milliseconds since 1970. */
  readonly lastTurn: BigInt64Array;
}

export type LeaseThreadRequest =
  | { readonly kind: 'keep'; readonly lease: Lease }
  | { readonly kind: 'drop'; readonly lease: Lease }
  | { readonly kind: 'close' };

export type LeaseThreadReport =
  | { readonly kind: 'lost'; readonly token: string }
  | { readonly kind: 'warning'; readonly message: string };

/** Milliseconds until the thread starts. Most in-memory runs end earlier and need none. */
const START_AFTER_MS = 1_000;

interface LeaseEntry {
  readonly lease: Lease;
  readonly onLost: (error: Error) => void;
}

/**
 * Renews leases in a thread with its own connection, so that a busy event loop loses no run. When the event loop is
 * blocked for a minute, the renewals stop.
 */
class ThreadedLeaseKeeper implements LeaseKeeper {
  readonly #queue: RunQueue;
  readonly #options: LeaseKeeperOptions;
  readonly #address: string;
  readonly #held = new Map<string, LeaseEntry>();
  readonly #lastTurn = new BigInt64Array(new SharedArrayBuffer(8));
  #turns: KeepAlive | undefined;
  #starting: NodeJS.Timeout | undefined;
  #thread: Worker | undefined;
  /** Renews in this thread after the other one has failed. */
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
    this.#turns?.stop();
    await this.#fallback?.close();
    const thread = this.#thread;
    if (thread === undefined) return;
    // Terminating a thread inside of SQLite would crash the process, so the thread ends itself.
    const ended = new Promise<void>((resolve) => thread.once('exit', () => resolve()));
    thread.ref(); // Without it the process could end before this promise resolves.
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
    this.#turns = startKeepAlive(turn, PERIODS_MS.turns);
    const { renewEveryMs } = this.#options;
    const workerData: LeaseThreadData = { address: this.#address, renewEveryMs, lastTurn: this.#lastTurn };
    const thread = new Worker(builtFile('store/queue/lease-thread.js'), {
      workerData,
      execArgv: [],
      name: 'proctor-leases',
    });
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
    held?.onLost(runLost());
  }

  /** Renews in this thread from now on. */
  #fallBack(error: Error): void {
    if (this.#closing !== undefined || this.#fallback !== undefined) return;
    this.#options.warn?.(error);
    this.#turns?.stop();
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
  /** Called with temporary failures to renew. */
  readonly warn?: ((error: unknown) => void) | undefined;
  /** For tests: milliseconds between renewals. Default 3,000. */
  readonly renewEveryMs?: number | undefined;
  /** For tests: milliseconds until the thread starts. Default 1,000. */
  readonly startAfterMs?: number | undefined;
}

/** Renews the leases of a queue: in a separate thread when the queue table has an address, else in this one. */
export function createLeaseKeeper(queue: RunQueue, options: LeaseKeeperOptions = {}): LeaseKeeper {
  const { leaseAddress } = queue;
  if (leaseAddress === undefined) return new LeaseRenewer(queue, options);
  return new ThreadedLeaseKeeper(queue, leaseAddress, options);
}
