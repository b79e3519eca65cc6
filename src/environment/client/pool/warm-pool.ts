import type { StartKind } from '../../process/waiting-line.ts';
import { connectEnvironment } from '../connect.ts';
import type { ConnectOptions, EnvironmentTarget } from '../environment-client.ts';
import type { McpEnvironmentClient } from '../mcp-environment-client.ts';
import { WarmProcesses } from './warm-processes.ts';

/** Default number of waiting processes of all environments. A process of Node.js takes about 60 MB. */
const DEFAULT_MAX_WAITING = 8;
const RETRY_MS = { first: 1_000, longest: 60_000 } as const;

export interface WarmPoolOptions {
  /**
   * Starts a process for one session and connects to it. Default: `connectEnvironment`, without a limit of parallel
   * starts.
   *
   * @param kind says who waits for it. @param since is the time of the request by `performance.now()`. Default: now.
   */
  readonly connect?:
    | ((
        target: EnvironmentTarget,
        options: ConnectOptions,
        kind: StartKind,
        since?: number,
      ) => Promise<McpEnvironmentClient>)
    | undefined;
  /** Number of connected processes that wait, for each environment. 0 turns this off. */
  readonly perEnvironment: number;
  /**
   * Number of waiting processes of all environments together. Beyond it, the environment whose last request is the
   * oldest loses a process. Default 8, or `perEnvironment` if that is more.
   */
  readonly maxWaiting?: number | undefined;
  /** Milliseconds without a request after which the waiting processes of an environment are ended. Default: never. */
  readonly idleMs?: number | undefined;
  /** Logs failures of processes that have no session. */
  readonly report?: ((line: string) => void) | undefined;
  /** Replaces `RETRY_MS`. Only tests set it. */
  readonly retryMs?: { readonly first: number; readonly longest: number } | undefined;
}

export interface WarmConnectOptions extends ConnectOptions {
  /** Hash of the environment's current code (`hashTargetCode`). Processes with other code are not used. */
  readonly codeHash: string | null;
  /** The side that waits for the session. Default `chat`. */
  readonly kind?: 'chat' | 'run' | undefined;
  /** Time of the request by `performance.now()`. Default: now. */
  readonly since?: number | undefined;
}

/**
 * Keeps connected processes ready, so that a session need not wait for a start. Each process serves one session, and
 * its receiver has to close it. The first processes of an environment start after its first request, or with `warm`.
 * The caller that makes a pool has to close it.
 */
export class WarmPool {
  readonly #options: WarmPoolOptions;
  readonly #maxWaiting: number;
  readonly #connect: NonNullable<WarmPoolOptions['connect']>;
  readonly #slots = new Map<EnvironmentTarget, WarmProcesses>();
  /** Starts and ends of processes in progress. */
  readonly #work = new Set<Promise<void>>();
  #requests = 0;
  #isClosed = false;

  constructor(options: WarmPoolOptions) {
    this.#options = options;
    this.#connect = options.connect ?? connectEnvironment;
    this.#maxWaiting = options.maxWaiting ?? Math.max(DEFAULT_MAX_WAITING, options.perEnvironment);
  }

  /**
   * Returns a process that no other session uses or has used: a waiting one if possible, otherwise a new one. Waiting
   * processes belong to one target object. Environments in memory or at an address are always connected anew, and so
   * are connections with `_meta` or for reading.
   *
   * @throws BoundaryError and the reason of the signal, as `connectEnvironment`.
   */
  async connect(target: EnvironmentTarget, options: WarmConnectOptions): Promise<McpEnvironmentClient> {
    const { codeHash, kind = 'chat', since, ...connectOptions } = options;
    const start = () => this.#connect(target, connectOptions, kind, since);
    if (!this.#keeps(target) || options.meta !== undefined || options.isForReading) return await start();
    options.signal?.throwIfAborted();
    const slot = this.#slotOf(target);
    slot.onRequest(++this.#requests);
    const process = slot.take(codeHash);
    if (process !== undefined) options.onAdmitted?.();
    const client = process?.client ?? (await start());
    slot.onGivenOut();
    process?.log.passTo(options.onLog);
    return client;
  }

  /** Number of processes of an environment that wait now. */
  ready(target: EnvironmentTarget): number {
    return this.#slots.get(target)?.ready ?? 0;
  }

  /** Starts the processes of an environment before its first request. */
  warm(target: EnvironmentTarget): void {
    if (this.#keeps(target)) this.#slotOf(target).fill();
  }

  /** Ends the waiting processes of an environment, also the one that is starting. The next request starts new ones. */
  drop(target: EnvironmentTarget): void {
    const slot = this.#slots.get(target);
    this.#slots.delete(target);
    slot?.close('The waiting processes of the environment are not needed any more');
  }

  /** Ends all processes without a session, also those that are starting. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const slot of this.#slots.values()) slot.close('The pool was closed');
    await Promise.all(this.#work);
  }

  #keeps({ kind }: EnvironmentTarget): boolean {
    return !this.#isClosed && this.#options.perEnvironment > 0 && (kind === 'module' || kind === 'command');
  }

  #slotOf(target: EnvironmentTarget): WarmProcesses {
    const known = this.#slots.get(target);
    if (known !== undefined) return known;
    const { perEnvironment, retryMs = RETRY_MS, idleMs, report } = this.#options;
    const slot: WarmProcesses = new WarmProcesses(target, {
      connect: (each, connectOptions) => this.#connect(each, connectOptions, 'spare'),
      size: perEnvironment,
      retryMs,
      idleMs,
      report,
      makeRoom: () => this.#makeRoom(slot),
      track: (work) => this.#track(work),
      onIdle: () => this.drop(target),
    });
    this.#slots.set(target, slot);
    return slot;
  }

  /** @returns false if all places belong to environments with a later request. */
  #makeRoom(slot: WarmProcesses): boolean {
    const slots = [...this.#slots.values()];
    if (slots.reduce((sum, { count }) => sum + count, 0) < this.#maxWaiting) return true;
    const older = slots.filter(({ lastRequest }) => lastRequest < slot.lastRequest);
    return older.sort((a, b) => a.lastRequest - b.lastRequest).some((other) => other.dropOldest());
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }
}
