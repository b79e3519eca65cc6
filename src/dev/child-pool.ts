import { withDeadline } from '../runtime/deadline.ts';
import { Child, type ChildOptions, type EnvironmentInfo } from './child.ts';

export interface PoolOptions extends ChildOptions {
  /** True where sessions open at any time: a child that has loaded the environment waits for the next one. */
  readonly keepsLoaded: boolean;
}

/** A child that has loaded the environment. */
export interface LoadedChild {
  readonly child: Child;
  readonly info: EnvironmentInfo;
}

/**
 * The processes that nobody uses yet: one that has loaded all but the environment, so that a change is served fast, and
 * one with the newest version that could be loaded, where sessions open at any time. Whoever made it closes it.
 */
export class ChildPool {
  readonly #options: PoolOptions;
  readonly #ending = new Set<Promise<void>>();
  #blank: Child | undefined;
  #loaded: LoadedChild | undefined;
  /** The child that loads for `renew`. */
  #loading: Child | undefined;
  /** The load of the newest version; rejects where that cannot be loaded. */
  #newest: Promise<void> = Promise.resolve();
  #version = 0;
  #onRenewed: (() => void)[] = [];
  #warming: NodeJS.Timeout[] = [];
  #latest: EnvironmentInfo | undefined;
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Information of the newest version that was loaded; undefined before the first. */
  get latest(): EnvironmentInfo | undefined {
    return this.#latest;
  }

  /**
   * From now on children are of the files as they are now; what waited for a session is replaced when that has loaded.
   *
   * @returns false where another change has overtaken this one.
   * @throws Error that says where and why the new version cannot be loaded. The one before stays.
   */
  async renew(): Promise<boolean> {
    this.#version += 1;
    const version = this.#version;
    // Only the last of many changes matters: stop loading an older one.
    if (this.#loading !== undefined) this.end(this.#loading);
    const child = this.#takeBlank();
    this.#loading = child;
    const loading = this.#load(child);
    this.#newest = loading.then(
      () => {},
      () => {},
    );
    let loaded: LoadedChild;
    try {
      loaded = await loading;
    } catch (error) {
      if (version !== this.#version) return false;
      throw error;
    } finally {
      if (this.#loading === child) this.#loading = undefined;
    }
    if (version !== this.#version || this.#isClosed) {
      this.end(loaded.child);
      return false;
    }
    if (this.#loaded !== undefined) this.end(this.#loaded.child);
    this.#loaded = loaded;
    this.#latest = loaded.info;
    for (const retry of this.#onRenewed.splice(0)) retry();
    return true;
  }

  /**
   * A child of the newest version, the caller's from now on. Where that cannot be loaded, waits for one that can.
   *
   * @throws Error when that takes longer than `patienceMs`, or the pool is closed.
   */
  async take(patienceMs: number): Promise<Child> {
    const child = await this.#take(patienceMs);
    this.warm();
    return child;
  }

  async #take(patienceMs: number): Promise<Child> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      if (this.#isClosed) throw new Error('The server is closed');
      const waiting = this.#loaded;
      this.#loaded = undefined;
      if (waiting !== undefined && waiting.child.process.status === undefined) return waiting.child;
      const version = this.#version;
      await this.#newest;
      if (this.#loaded !== undefined) continue;
      const loaded = await this.#load().catch(() => undefined);
      if (loaded !== undefined && version === this.#version) return loaded.child;
      if (loaded !== undefined) this.end(loaded.child);
      else if (version === this.#version) await this.#renewedWithin(deadline - performance.now());
    }
  }

  /** Starts what should wait and does not: a little later, when what is under way has the processor no longer. */
  warm(): void {
    this.#stopWarming();
    if (this.#isClosed) return;
    const start = () => {
      this.#blank ??= new Child(this.#options);
    };
    this.#warming = [setTimeout(start, BLANK_AFTER_MS)];
    if (this.#options.keepsLoaded) this.#warming.push(setTimeout(() => void this.#warmLoaded(), LOADED_AFTER_MS));
    for (const timer of this.#warming) timer.unref();
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
    const child = this.#loaded?.child;
    this.#loaded = undefined;
    return child;
  }

  /** Ends what waits. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopWarming();
    for (const retry of this.#onRenewed.splice(0)) retry();
    for (const child of [this.#blank, this.#loaded?.child]) if (child !== undefined) this.end(child);
    this.#blank = undefined;
    this.#loaded = undefined;
    await Promise.all(this.#ending);
  }

  #takeBlank(): Child {
    const blank = this.#blank;
    this.#blank = undefined;
    return blank !== undefined && blank.process.status === undefined ? blank : new Child(this.#options);
  }

  async #load(child: Child = this.#takeBlank()): Promise<LoadedChild> {
    try {
      return { child, info: await child.load() };
    } catch (error) {
      this.end(child);
      throw error;
    }
  }

  async #warmLoaded(): Promise<void> {
    if (this.#loaded !== undefined) return;
    const version = this.#version;
    const loaded = await this.#load(new Child(this.#options)).catch(() => undefined);
    const isWanted = version === this.#version && this.#loaded === undefined && !this.#isClosed;
    if (isWanted) this.#loaded = loaded;
    else if (loaded !== undefined) this.end(loaded.child);
  }

  #stopWarming(): void {
    for (const timer of this.#warming.splice(0)) clearTimeout(timer);
  }

  async #renewedWithin(limitMs: number): Promise<void> {
    if (limitMs <= 0) throw new Error(NOT_STARTING);
    const renewed = new Promise<void>((resolve) => void this.#onRenewed.push(resolve));
    await withDeadline(() => renewed, { ms: limitMs, toError: () => new Error(NOT_STARTING) });
  }
}

const BLANK_AFTER_MS = 100;
/** After the blank one, which a change needs at once. */
const LOADED_AFTER_MS = 1_000;
/** For clients, which may be an agent's: why is said on standard error. */
const NOT_STARTING =
  'The environment cannot be started; the output of proctor dev says why. Ask again once it is mended';
