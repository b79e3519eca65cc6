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
 * The processes that nobody uses yet, at most one of each kind: a blank one, which has loaded all but the environment, so
 * that a change is served fast, and a loaded one, for the next session. Whoever made it closes it.
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

  /** The caller's from now on; started now where none waits. */
  takeBlank(): Child {
    const blank = this.#blank;
    this.#blank = undefined;
    return blank !== undefined && isRunning(blank) ? blank : this.#options.start();
  }

  /** The caller's from now on; undefined where none waits. */
  takeLoaded(): Child | undefined {
    const child = this.#loaded?.child;
    this.#loaded = undefined;
    return child !== undefined && isRunning(child) ? child : undefined;
  }

  /** Keeps a loaded child in place of the one that waits. */
  keep(loaded: LoadedChild): void {
    if (this.#loaded !== undefined) this.#options.end(this.#loaded.child);
    this.#loaded = loaded;
  }

  /**
   * Starts the blank child where none waits, and then calls back for the loaded one: a little later, when what is under
   * way has the processor no longer. Called again, it waits anew.
   */
  warm(load: (() => void) | undefined): void {
    this.#stopWarming();
    const startBlank = () => {
      this.#blank ??= this.#options.start();
    };
    this.#timers.push(setTimeout(startBlank, BLANK_AFTER_MS).unref());
    if (load !== undefined) this.#timers.push(setTimeout(load, LOADED_AFTER_MS).unref());
  }

  /** Ends what waits. */
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
/** After the blank one, which a change needs at once. */
const LOADED_AFTER_MS = 1_000;

function isRunning(child: Child): boolean {
  return child.process.status === undefined;
}
