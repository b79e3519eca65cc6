import { messageOf } from '../contract/errors.ts';
import { connectEnvironment } from './connect.ts';
import type { ConnectOptions, EnvironmentTarget } from './environment-client.ts';
import type { McpEnvironmentClient } from './mcp-environment-client.ts';
import { hashTargetCode } from './module-hash.ts';
import { SpareLog } from './spare-log.ts';

/** Over all environments, where the options do not say. A process of Node.js takes some 60 MB. */
const DEFAULT_MAX_SPARES = 8;
/** Milliseconds between attempts to start a spare, after the first failure in a row and at most; each is twice the last. */
const RETRY_MS = { first: 1_000, longest: 60_000 } as const;

/** Milliseconds after which a spare that was given out is replaced: its session's setup has the processor first. */
const REFILL_MS = 250;

export interface WarmPoolOptions {
  /** Connected processes that wait for each environment; 0 for none. */
  readonly perEnvironment: number;
  /** Over all environments: the one that was asked for longest ago gives way. Default 8, or `perEnvironment` where that is more. */
  readonly maxSpares?: number | undefined;
  /** Milliseconds after which the spares of an environment that nobody asked for are ended. Default: they stay. */
  readonly idleMs?: number | undefined;
  /** Takes what goes wrong with processes that no session has. */
  readonly report?: ((line: string) => void) | undefined;
  /** For tests: `RETRY_MS`. */
  readonly retryMs?: { readonly first: number; readonly longest: number } | undefined;
}

export interface WarmConnectOptions extends ConnectOptions {
  /** Hash of the environment's current code (`hashTargetCode`): a process of other code is not given out. */
  readonly codeHash: string | null;
}

/** A process that is connected, its initialize hook done, and has no session yet. */
interface Spare {
  readonly client: McpEnvironmentClient;
  readonly log: SpareLog;
  /** Hash of the code before the process was started, so that a change meanwhile makes it stale. */
  readonly codeHash: string | null;
}

/** The spares of one environment. At most one is being started: they must not slow down sessions that start cold. */
interface Shelf {
  readonly target: EnvironmentTarget;
  readonly spares: Spare[];
  starting: AbortController | undefined;
  retry: NodeJS.Timeout | undefined;
  refill: NodeJS.Timeout | undefined;
  /** Ends the spares when nobody has asked for long. */
  idle: NodeJS.Timeout | undefined;
  /** Since a session last got a process. */
  failures: number;
  /** Higher is later. */
  askedAt: number;
  /** Unused for long: no more processes are started for it. */
  isGone: boolean;
}

/**
 * Keeps connected processes of environments ready, so that a session need not wait until one has started. Each is given
 * out once and closed by whoever got it. The first spares of an environment are started when somebody has asked for it,
 * or by `warm`. Whoever made the pool closes it.
 */
export class WarmPool {
  readonly #options: WarmPoolOptions;
  readonly #maxSpares: number;
  readonly #shelves = new Map<EnvironmentTarget, Shelf>();
  readonly #starts = new Set<Promise<void>>();
  readonly #ends = new Set<Promise<void>>();
  #asked = 0;
  #isClosed = false;

  constructor(options: WarmPoolOptions) {
    this.#options = options;
    this.#maxSpares = options.maxSpares ?? Math.max(DEFAULT_MAX_SPARES, options.perEnvironment);
  }

  /**
   * A process that no other session has or had: one that waits, else a new one. Spares are kept for the same target
   * object; environments in memory and at an address are connected to anew each time, as are those that are to get
   * `_meta` or are for reading.
   *
   * @throws BoundaryError and the reason of the signal, as `connectEnvironment`.
   */
  async connect(target: EnvironmentTarget, options: WarmConnectOptions): Promise<McpEnvironmentClient> {
    const { codeHash, ...connectOptions } = options;
    if (!this.#keeps(target) || options.meta !== undefined || options.isForReading) {
      return await connectEnvironment(target, connectOptions);
    }
    options.signal?.throwIfAborted();
    const shelf = this.#shelfOf(target);
    shelf.askedAt = ++this.#asked;
    this.#restartIdle(shelf);
    const spare = this.#take(shelf, codeHash);
    const client = spare?.client ?? (await connectEnvironment(target, connectOptions));
    shelf.failures = 0;
    clearTimeout(shelf.retry);
    shelf.retry = undefined;
    this.#fillSoon(shelf);
    spare?.log.passTo(options.onLog);
    return client;
  }

  /** How many processes of an environment wait now. */
  ready(target: EnvironmentTarget): number {
    return this.#shelves.get(target)?.spares.length ?? 0;
  }

  /** Starts the spares of an environment before anybody has asked for it. */
  warm(target: EnvironmentTarget): void {
    if (this.#keeps(target)) this.#fill(this.#shelfOf(target));
  }

  /** Ends the processes that no session has, also those that are being started. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const shelf of this.#shelves.values()) {
      clearTimeout(shelf.retry);
      clearTimeout(shelf.refill);
      clearTimeout(shelf.idle);
      shelf.starting?.abort(new Error('The pool was closed'));
      for (const spare of shelf.spares.splice(0)) this.#end(spare);
    }
    await Promise.all([...this.#starts, ...this.#ends]);
  }

  #keeps({ kind }: EnvironmentTarget): boolean {
    return !this.#isClosed && this.#options.perEnvironment > 0 && (kind === 'module' || kind === 'command');
  }

  #shelfOf(target: EnvironmentTarget): Shelf {
    const known = this.#shelves.get(target);
    if (known !== undefined) return known;
    const shelf: Shelf = {
      target,
      spares: [],
      starting: undefined,
      retry: undefined,
      refill: undefined,
      idle: undefined,
      failures: 0,
      askedAt: 0,
      isGone: false,
    };
    this.#shelves.set(target, shelf);
    return shelf;
  }

  /** Removes the oldest spare that can be used, and ends those before it that cannot. */
  #take(shelf: Shelf, codeHash: string | null): Spare | undefined {
    for (let spare = shelf.spares.shift(); spare !== undefined; spare = shelf.spares.shift()) {
      if (spare.codeHash === codeHash && !spare.client.isLost) return spare;
      this.#end(spare);
    }
    return undefined;
  }

  #restartIdle(shelf: Shelf): void {
    clearTimeout(shelf.idle);
    const { idleMs } = this.#options;
    if (idleMs === undefined) return;
    shelf.idle = setTimeout(() => {
      shelf.idle = undefined;
      this.#shelves.delete(shelf.target);
      clearTimeout(shelf.retry);
      clearTimeout(shelf.refill);
      shelf.isGone = true;
      shelf.starting?.abort(new Error('Nobody has asked for the environment for long'));
      for (const spare of shelf.spares.splice(0)) this.#end(spare);
    }, idleMs);
    shelf.idle.unref();
  }

  #fillSoon(shelf: Shelf): void {
    if (this.#isClosed || shelf.isGone) return;
    shelf.refill ??= setTimeout(() => {
      shelf.refill = undefined;
      this.#fill(shelf);
    }, REFILL_MS).unref();
  }

  /** Starts what is missing, one after the other, in the background. */
  #fill(shelf: Shelf): void {
    const isBusy = shelf.starting !== undefined || shelf.retry !== undefined;
    if (this.#isClosed || shelf.isGone || isBusy || shelf.spares.length >= this.#options.perEnvironment) return;
    if (!this.#makeRoom(shelf)) return;
    const stop = new AbortController();
    shelf.starting = stop;
    const start = this.#start(shelf, stop.signal).finally(() => {
      this.#starts.delete(start);
      shelf.starting = undefined;
      this.#fill(shelf);
    });
    this.#starts.add(start);
  }

  async #start(shelf: Shelf, signal: AbortSignal): Promise<void> {
    const log = new SpareLog();
    try {
      const codeHash = await hashTargetCode(shelf.target);
      const client = await connectEnvironment(shelf.target, { signal, onLog: log.add });
      await rehearse(client, signal);
      const spare = { client, log, codeHash };
      if (this.#isClosed || shelf.isGone) {
        await client.close();
        return;
      }
      shelf.spares.push(spare);
      void client.lost.then((cause) => this.#onLost(shelf, spare, cause));
    } catch (error) {
      this.#retryLater(shelf, error);
    }
  }

  /** A spare has died. One that a session has is that session's own affair. */
  #onLost(shelf: Shelf, spare: Spare, cause: unknown): void {
    const at = shelf.spares.indexOf(spare);
    if (at < 0) return;
    shelf.spares.splice(at, 1);
    this.#end(spare);
    this.#retryLater(shelf, cause);
  }

  #retryLater(shelf: Shelf, cause: unknown): void {
    if (this.#isClosed || shelf.isGone || shelf.retry !== undefined) return;
    const { first, longest } = this.#options.retryMs ?? RETRY_MS;
    const delayMs = Math.min(longest, first * 2 ** shelf.failures);
    shelf.failures += 1;
    this.#options.report?.(`No process is kept ready for the next ${delayMs} ms: ${messageOf(cause)}`);
    shelf.retry = setTimeout(() => {
      shelf.retry = undefined;
      this.#fill(shelf);
    }, delayMs);
    shelf.retry.unref();
  }

  /** @returns false where all places are taken by environments that were asked for later. */
  #makeRoom(shelf: Shelf): boolean {
    const shelves = [...this.#shelves.values()];
    const count = shelves.reduce((sum, { spares, starting }) => sum + spares.length + (starting ? 1 : 0), 0);
    if (count < this.#maxSpares) return true;
    const others = shelves.filter(({ spares, askedAt }) => spares.length > 0 && askedAt < shelf.askedAt);
    const [idlest] = others.sort((a, b) => a.askedAt - b.askedAt);
    const spare = idlest?.spares.shift();
    if (spare === undefined) return false;
    this.#end(spare);
    return true;
  }

  #end({ client }: Spare): void {
    const end = client.close().finally(() => this.#ends.delete(end));
    this.#ends.add(end);
  }
}

/**
 * Asks what every session asks first: a process answers for the first time several times slower than for the second.
 * Nothing of the author's runs, since there is no scenario of that name. A program that is no environment is asked nothing.
 */
async function rehearse(client: McpEnvironmentClient, signal: AbortSignal): Promise<void> {
  try {
    await client.scenarios({ signal });
    await client.tools({ signal });
    await client.setup('', {}, { signal });
  } catch {
    // The error is reported to the caller that gets the process.
  }
}
