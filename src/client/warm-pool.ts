import type { StartKind } from '../process/waiting-line.ts';
import { connectEnvironment } from './connect.ts';
import type { ConnectOptions, EnvironmentTarget } from './environment-client.ts';
import type { McpEnvironmentClient } from './mcp-environment-client.ts';
import { PoolSlot } from './pool-slot.ts';

/** Over all environments, where the options do not say. A process of Node.js takes some 60 MB. */
const DEFAULT_MAX_WAITING = 8;
const RETRY_MS = { first: 1_000, longest: 60_000 } as const;

export interface WarmPoolOptions {
  /**
   * Starts a process for one session and connects to it. Default: `connectEnvironment`, at once.
   *
   * @param kind who waits for it.
   */
  readonly connect?:
    | ((target: EnvironmentTarget, options: ConnectOptions, kind: StartKind) => Promise<McpEnvironmentClient>)
    | undefined;
  /** Connected processes that wait for each environment; 0 for none. */
  readonly perEnvironment: number;
  /** Over all environments: the one that was asked for longest ago gives way. Default 8, or `perEnvironment` where that is more. */
  readonly maxWaiting?: number | undefined;
  /** Milliseconds after which the processes of an environment that nobody asked for are ended. Default: they stay. */
  readonly idleMs?: number | undefined;
  /** Takes what goes wrong with processes that no session has. */
  readonly report?: ((line: string) => void) | undefined;
  /** For tests: `RETRY_MS`. */
  readonly retryMs?: { readonly first: number; readonly longest: number } | undefined;
}

export interface WarmConnectOptions extends ConnectOptions {
  /** Hash of the environment's current code (`hashTargetCode`): a process of other code is not given out. */
  readonly codeHash: string | null;
  /** The side that waits for it. Default `chat`. */
  readonly kind?: 'chat' | 'run' | undefined;
}

/**
 * Keeps connected processes of environments ready, so that a session need not wait until one has started. Each is given
 * out once and closed by whoever got it. The first processes of an environment are started when somebody has asked for
 * it, or by `warm`. Whoever made the pool closes it.
 */
export class WarmPool {
  readonly #options: WarmPoolOptions;
  readonly #maxWaiting: number;
  readonly #connect: NonNullable<WarmPoolOptions['connect']>;
  readonly #slots = new Map<EnvironmentTarget, PoolSlot>();
  /** Starts and ends of processes that are in progress. */
  readonly #work = new Set<Promise<void>>();
  #requests = 0;
  #isClosed = false;

  constructor(options: WarmPoolOptions) {
    this.#options = options;
    this.#connect = options.connect ?? connectEnvironment;
    this.#maxWaiting = options.maxWaiting ?? Math.max(DEFAULT_MAX_WAITING, options.perEnvironment);
  }

  /**
   * A process that no other session has or had: one that waits, else a new one. Processes are kept for the same target
   * object; environments in memory and at an address are connected to anew each time, as are those that are to get
   * `_meta` or are for reading.
   *
   * @throws BoundaryError and the reason of the signal, as `connectEnvironment`.
   */
  async connect(target: EnvironmentTarget, options: WarmConnectOptions): Promise<McpEnvironmentClient> {
    const { codeHash, kind = 'chat', ...connectOptions } = options;
    const start = () => this.#connect(target, connectOptions, kind);
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

  /** How many processes of an environment wait now. */
  ready(target: EnvironmentTarget): number {
    return this.#slots.get(target)?.ready ?? 0;
  }

  /** Starts the processes of an environment before anybody has asked for it. */
  warm(target: EnvironmentTarget): void {
    if (this.#keeps(target)) this.#slotOf(target).fill();
  }

  /** Ends the processes of an environment that wait, also the one that is being started, until somebody asks for it again. */
  drop(target: EnvironmentTarget): void {
    const slot = this.#slots.get(target);
    this.#slots.delete(target);
    slot?.close('No process of the environment is to wait any more');
  }

  /** Ends the processes that no session has, also those that are being started. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const slot of this.#slots.values()) slot.close('The pool was closed');
    await Promise.all(this.#work);
  }

  #keeps({ kind }: EnvironmentTarget): boolean {
    return !this.#isClosed && this.#options.perEnvironment > 0 && (kind === 'module' || kind === 'command');
  }

  #slotOf(target: EnvironmentTarget): PoolSlot {
    const known = this.#slots.get(target);
    if (known !== undefined) return known;
    const { perEnvironment, retryMs = RETRY_MS, idleMs, report } = this.#options;
    const slot: PoolSlot = new PoolSlot(target, {
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

  /** @returns false where all places are taken by environments that were asked for later. */
  #makeRoom(slot: PoolSlot): boolean {
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
