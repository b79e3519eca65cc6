/** Between two tries to start what could not be started. */
const RETRY_MS = 5_000;

/**
 * Whether something can be started: tried when it is first asked, for all who ask meanwhile, and not again once it could.
 * A failure is told at once, while another try runs behind it: a probe that asks every few seconds has no time to wait.
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

  /** The value that the start gave. @throws what the last try has thrown. */
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

  /** Resolves when no try runs. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Never rejects. */
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
