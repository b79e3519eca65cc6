import { withDeadline } from '../../support/runtime/deadline.ts';
import { Child, type ChildOptions, type EnvironmentInfo } from './child.ts';
import { type LoadedChild, StandbyChildren } from './standby-children.ts';

export interface PoolOptions extends ChildOptions {
  /**
   * True if sessions may open at any time, so that a child with the loaded environment should wait for the next one.
   */
  readonly keepsLoaded: boolean;
}

/**
 * The newest version of the files. Each change makes a new object, so work that ends with another version than it began
 * with knows that it is outdated.
 */
type Version =
  /** A child that `renew` started is loading the version. `ended` resolves when the load succeeds or fails. */
  | { readonly kind: 'loading'; readonly child: Child; readonly ended: Promise<void> }
  /** The version was loaded, or its load failed. Also the state before the first `renew`. */
  | { readonly kind: 'tried' }
  /** The pool is closed, and no new version follows. */
  | { readonly kind: 'closed' };

/** Starts the processes of an environment, one for each session, with the newest version that loads. */
export class ChildPool {
  readonly #options: PoolOptions;
  readonly #standby: StandbyChildren;
  readonly #ending = new Set<Promise<void>>();
  #version: Version = { kind: 'tried' };
  #latest: EnvironmentInfo | undefined;
  /** Sessions that wait for a version that loads. */
  readonly #onRenewed: (() => void)[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#standby = new StandbyChildren({ start: () => this.#start(), end: (child) => this.end(child) });
  }

  /** Name and version of the newest loaded environment. Undefined before the first. */
  get latest(): EnvironmentInfo | undefined {
    return this.#latest;
  }

  /**
   * Loads the current files for all later sessions. The process that waits for a session is replaced after the load.
   *
   * @returns false if a newer change replaced this one, or if the pool is closed.
   * @throws Error that says where and why the new version cannot be loaded. The previous version stays in use.
   */
  async renew(): Promise<boolean> {
    if (this.#version.kind === 'closed') return false;
    // Only the last of many changes matters, so loading an older one is stopped.
    if (this.#version.kind === 'loading') this.end(this.#version.child);
    const child = this.#standby.takeBlank();
    const load = this.#load(child);
    const ended = load.then(
      () => {},
      () => {},
    );
    const version: Version = { kind: 'loading', child, ended };
    this.#version = version;
    let loaded: LoadedChild;
    try {
      loaded = await load;
    } catch (error) {
      if (this.#version !== version) return false;
      this.#version = { kind: 'tried' };
      throw error;
    }
    if (this.#version !== version) {
      this.end(loaded.child);
      return false;
    }
    this.#version = { kind: 'tried' };
    this.#latest = loaded.info;
    this.#standby.keep(loaded);
    this.#retryWaiting();
    return true;
  }

  /**
   * Gives the caller a child with the newest version. If that version cannot be loaded, waits for one that can.
   *
   * @throws Error if this takes longer than `patienceMs`, or if the pool is closed.
   */
  async take(patienceMs: number): Promise<Child> {
    const child = await this.#take(performance.now() + patienceMs);
    this.warm();
    return child;
  }

  async #take(deadline: number): Promise<Child> {
    for (;;) {
      const version = this.#version;
      if (version.kind === 'closed') throw new Error('The server is closed');
      const waiting = this.#standby.takeLoaded();
      if (waiting !== undefined) return waiting;
      if (version.kind === 'loading') {
        await version.ended;
        continue;
      }
      const loaded = await this.#load(this.#standby.takeBlank()).catch(() => undefined);
      const isNewest = version === this.#version;
      if (loaded !== undefined && isNewest) return loaded.child;
      if (loaded !== undefined) this.end(loaded.child);
      else if (isNewest) await this.#renewedWithin(deadline - performance.now());
    }
  }

  /**
   * Starts the missing waiting processes after a short delay, so that they do not compete with the work in progress.
   */
  warm(): void {
    if (this.#version.kind === 'closed') return;
    this.#standby.warm(this.#options.keepsLoaded ? () => void this.#keepLoaded() : undefined);
  }

  /** Ends a child like a client that disconnects: without shutdown hooks. */
  end(child: Child): void {
    const ending = child.process.disconnect().finally(() => {
      this.#ending.delete(ending);
    });
    this.#ending.add(ending);
  }

  /** Gives the waiting child with the newest version to the caller, who has to end it. Undefined if none waits. */
  release(): Child | undefined {
    return this.#standby.takeLoaded();
  }

  /** Ends the processes that wait or load. Never rejects. */
  async close(): Promise<void> {
    if (this.#version.kind === 'loading') this.end(this.#version.child);
    this.#version = { kind: 'closed' };
    this.#standby.close();
    this.#retryWaiting();
    await Promise.all(this.#ending);
  }

  #start(): Child {
    return new Child(this.#options);
  }

  async #load(child: Child): Promise<LoadedChild> {
    try {
      return { child, info: await child.load() };
    } catch (error) {
      this.end(child);
      throw error;
    }
  }

  /** Loads the environment in a new child, because the blank child is kept for the next change. */
  async #keepLoaded(): Promise<void> {
    const version = this.#version;
    // If a version is being loaded, its child will wait anyway.
    if (version.kind !== 'tried' || this.#standby.hasLoaded) return;
    const loaded = await this.#load(this.#start()).catch(() => undefined);
    if (loaded === undefined) return;
    if (version === this.#version && !this.#standby.hasLoaded) this.#standby.keep(loaded);
    else this.end(loaded.child);
  }

  #retryWaiting(): void {
    for (const retry of this.#onRenewed.splice(0)) retry();
  }

  async #renewedWithin(limitMs: number): Promise<void> {
    if (limitMs <= 0) throw new Error(NOT_STARTING);
    const renewed = new Promise<void>((resolve) => void this.#onRenewed.push(resolve));
    await withDeadline(() => renewed, { ms: limitMs, toError: () => new Error(NOT_STARTING) });
  }
}

/** The client may belong to an agent, so the reason is shown on standard error only. */
const NOT_STARTING =
  'The environment cannot be started; the output of proctor dev says why. Try again after it is fixed';
