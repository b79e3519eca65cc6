import { withDeadline } from '../runtime/deadline.ts';
import { Child, type ChildOptions, type EnvironmentInfo } from './child.ts';
import { type LoadedChild, StandbyChildren } from './standby-children.ts';

export interface PoolOptions extends ChildOptions {
  /** True where sessions open at any time: a child that has loaded the environment waits for the next one. */
  readonly keepsLoaded: boolean;
}

/**
 * The newest version of the files. Each change makes another object: work that began with one and ends with another has
 * been overtaken.
 */
type Version =
  /** Its first load is under way, in a child of `renew`. `ended` resolves with it, however it ends. */
  | { readonly kind: 'loading'; readonly child: Child; readonly ended: Promise<void> }
  /** It was loaded, or cannot be; before the first `renew`, nobody has tried. */
  | { readonly kind: 'tried' }
  /** The pool is closed: no version follows. */
  | { readonly kind: 'closed' };

/** Starts the processes of an environment: one for each session, of the newest version that could be loaded. */
export class ChildPool {
  readonly #options: PoolOptions;
  readonly #standby: StandbyChildren;
  readonly #ending = new Set<Promise<void>>();
  #version: Version = { kind: 'tried' };
  #latest: EnvironmentInfo | undefined;
  /** Sessions that wait for a version that can be loaded. */
  readonly #onRenewed: (() => void)[] = [];

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#standby = new StandbyChildren({ start: () => this.#start(), end: (child) => this.end(child) });
  }

  /** Information of the newest version that was loaded; undefined before the first. */
  get latest(): EnvironmentInfo | undefined {
    return this.#latest;
  }

  /**
   * From now on children are of the files as they are now; what waited for a session is replaced when that has loaded.
   *
   * @returns false where another change has overtaken this one, and once the pool is closed.
   * @throws Error that says where and why the new version cannot be loaded. The one before stays.
   */
  async renew(): Promise<boolean> {
    if (this.#version.kind === 'closed') return false;
    // Only the last of many changes matters: stop loading an older one.
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
   * A child of the newest version, the caller's from now on. Where that cannot be loaded, waits for one that can.
   *
   * @throws Error when that takes longer than `patienceMs`, or the pool is closed.
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

  /** Starts what should wait and does not: a little later, when what is under way has the processor no longer. */
  warm(): void {
    if (this.#version.kind === 'closed') return;
    this.#standby.warm(this.#options.keepsLoaded ? () => void this.#keepLoaded() : undefined);
  }

  /** Ends a child as a client that goes away does: without its shutdown hooks. */
  end(child: Child): void {
    const ending = child.process.disconnect().finally(() => {
      this.#ending.delete(ending);
    });
    this.#ending.add(ending);
  }

  /** The child with the newest version, where one waits: it is the caller's to end. */
  release(): Child | undefined {
    return this.#standby.takeLoaded();
  }

  /** Ends what waits and what is being loaded. Never rejects. */
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

  /** In a new child: the blank one is for the next change. */
  async #keepLoaded(): Promise<void> {
    const version = this.#version;
    // A version that is being loaded will wait by itself.
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

/** For clients, which may be an agent's: why is said on standard error. */
const NOT_STARTING =
  'The environment cannot be started; the output of proctor dev says why. Ask again once it is mended';
