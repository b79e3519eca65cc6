import type { EventBody } from '../contract/event.ts';
import type { Json } from '../contract/json.ts';
import type { EventRecorder } from '../trace/recorder.ts';

/**
 * The recorder of one rollout. What cannot be recorded must not go on: the first failure to write is kept, aborts
 * `failed`, and is what every later wait rejects with. Nothing is written after `end`.
 */
export class GuardedRecorder implements EventRecorder {
  readonly #recorder: EventRecorder;
  readonly #failed = new AbortController();
  #isWatching = false;
  #hasUnwatched = false;
  #hasEnded = false;

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  /** Aborted with the error of the recorder below, such as an `AttemptSupersededError`, as soon as it is known. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  record(body: EventBody): void {
    if (this.#hasEnded || this.failed.aborted) return;
    this.#recorder.record(body);
    this.#hasUnwatched = true;
    if (!this.#isWatching) void this.#watch();
  }

  async settled(): Promise<void> {
    await this.#guard(() => this.#recorder.settled());
  }

  async toStored<T extends Json>(value: T): Promise<T> {
    return await this.#guard(() => this.#recorder.toStored(value));
  }

  /** Waits until all is written; what is recorded from now on (late logs) is dropped. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.settled();
  }

  /** Learns of a failure while a model or a tool takes its time, without making anyone wait for each event. */
  async #watch(): Promise<void> {
    this.#isWatching = true;
    while (this.#hasUnwatched && !this.failed.aborted) {
      this.#hasUnwatched = false;
      await this.settled().catch(() => {}); // kept by `failed`
    }
    this.#isWatching = false;
  }

  async #guard<T>(write: () => Promise<T>): Promise<T> {
    this.failed.throwIfAborted();
    try {
      return await write();
    } catch (error) {
      this.#failed.abort(error);
      throw this.failed.reason;
    }
  }
}
