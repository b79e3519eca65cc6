/** Milliseconds between two attempts to start. */
const RETRY_MS = 5_000;

/**
 * Checks whether a start succeeds. The first caller begins an attempt, concurrent callers share it, and a success is
 * final. After a failure, callers get the error at once while the next attempt runs in the background, because health
 * checks that poll every few seconds cannot wait.
 */
export class StartCheck<Started> {
  readonly #start: () => Promise<Started>;
  readonly #now: () => number;
  #started: { readonly value: Started } | undefined;
  #failure: { readonly error: unknown; readonly at: number } | undefined;
  #running: Promise<void> | undefined;

  constructor(start: () => Promise<Started>, now: () => number) {
    this.#start = start;
    this.#now = now;
  }

  /** The value that the start returned. @throws the error of the last attempt. */
  async result(): Promise<Started> {
    if (this.#started !== undefined) return this.#started.value;
    const failure = this.#failure;
    if (failure === undefined || this.#now() - failure.at >= RETRY_MS) this.#running ??= this.#try();
    if (failure !== undefined) throw failure.error;
    await this.#running;
    return this.#settledResult();
  }

  #settledResult(): Started {
    if (this.#started !== undefined) return this.#started.value;
    throw this.#failure?.error;
  }

  /** Resolves when no attempt is running. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Attempts a start. Never rejects. */
  async #try(): Promise<void> {
    try {
      this.#started = { value: await this.#start() };
      this.#failure = undefined;
    } catch (error) {
      this.#failure = { error, at: this.#now() };
    } finally {
      this.#running = undefined;
    }
  }
}
