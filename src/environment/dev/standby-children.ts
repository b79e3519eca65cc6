import type { Child, EnvironmentInfo } from './child.ts';

/** A child that has loaded the environment. */
export interface LoadedChild {
  readonly child: Child;
  readonly info: EnvironmentInfo;
}

export interface StandbyOptions {
  readonly start: () => Child;
  readonly end: (child: Child) => void;
}

/**
 * The processes that no session uses yet, at most one of each kind. The blank one has loaded everything except the
 * environment, so that a change loads fast. The loaded one is for the next session. The caller that makes this object
 * has to close it.
 */
export class StandbyChildren {
  readonly #options: StandbyOptions;
  readonly #timers: NodeJS.Timeout[] = [];
  #blank: Child | undefined;
  #loaded: LoadedChild | undefined;

  constructor(options: StandbyOptions) {
    this.#options = options;
  }

  get hasLoaded(): boolean {
    return this.#loaded !== undefined;
  }

  /** Gives the caller the blank child. Starts one if none waits. */
  takeBlank(): Child {
    const blank = this.#blank;
    this.#blank = undefined;
    return blank !== undefined && isRunning(blank) ? blank : this.#options.start();
  }

  /** Gives the caller the loaded child. Undefined if none waits. */
  takeLoaded(): Child | undefined {
    const child = this.#loaded?.child;
    this.#loaded = undefined;
    return child !== undefined && isRunning(child) ? child : undefined;
  }

  /** Keeps a loaded child and ends the one that waited before. */
  keep(loaded: LoadedChild): void {
    if (this.#loaded !== undefined) this.#options.end(this.#loaded.child);
    this.#loaded = loaded;
  }

  /**
   * Starts a blank child after 100 ms and calls `load` after 1 s, so that they do not compete with a reload. A second
   * call restarts both delays.
   */
  warm(load: (() => void) | undefined): void {
    this.#stopWarming();
    const startBlank = () => {
      this.#blank ??= this.#options.start();
    };
    this.#timers.push(setTimeout(startBlank, BLANK_AFTER_MS).unref());
    if (load !== undefined) this.#timers.push(setTimeout(load, LOADED_AFTER_MS).unref());
  }

  /** Ends the waiting processes. */
  close(): void {
    this.#stopWarming();
    for (const child of [this.#blank, this.#loaded?.child]) if (child !== undefined) this.#options.end(child);
    this.#blank = undefined;
    this.#loaded = undefined;
  }

  #stopWarming(): void {
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
  }
}

const BLANK_AFTER_MS = 100;
/** Milliseconds. Longer than for the blank child, which the next change needs at once. */
const LOADED_AFTER_MS = 1_000;

function isRunning(child: Child): boolean {
  return child.process.status === undefined;
}
