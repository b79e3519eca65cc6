import type { EventBody } from '../contract/event.ts';
import type { Json } from '../contract/json.ts';
import { replaceBytes } from './blob-references.ts';
import type { TraceStore } from './trace-store.ts';

/** Where the events of one attempt are written. */
export interface EventSink {
  /** Appends settle in the order in which they were made. */
  append(body: EventBody): Promise<unknown>;
  /** A value as it is stored: bytes over 16 KiB (base64 of images and other content) become blob references. */
  toStored<T extends Json>(value: T): Promise<T>;
}

/**
 * The recorder of one attempt. `record` does not wait; `settled` does. Events are written in the order in which they are
 * recorded. The first failure to write is kept: it aborts `failed`, nothing more is written, since a trace with a hole
 * would tell another story, and every later wait rejects with it. Nothing is written after `end` either.
 */
export class EventRecorder {
  readonly #sink: EventSink;
  readonly #failed = new AbortController();
  /** Appends settle in order, so that the last one stands for all. */
  #last: Promise<void> = Promise.resolve();
  #hasEnded = false;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  /** Aborted with the error of the first write that failed, such as an `AttemptSupersededError`. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  record(body: EventBody): void {
    if (this.#hasEnded || this.failed.aborted) return;
    this.#last = this.#append(body);
  }

  /** Waits until all is written. @throws the first failure. */
  async settled(): Promise<void> {
    await this.#last;
    this.failed.throwIfAborted();
  }

  /** @throws the first failure, which this may be. */
  async toStored<T extends Json>(value: T): Promise<T> {
    this.failed.throwIfAborted();
    try {
      return await this.#sink.toStored(value);
    } catch (error) {
      this.#failed.abort(error);
      throw this.failed.reason;
    }
  }

  /** As `settled`; events that come from now on, such as late logs, are dropped. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.settled();
  }

  async #append(body: EventBody): Promise<void> {
    try {
      await this.#sink.append(body);
    } catch (error) {
      this.#failed.abort(error);
    }
  }
}

/** The part of a recorder by which a turn writes. */
export type TurnRecorder = Pick<EventRecorder, 'record' | 'settled' | 'toStored'>;

/**
 * The recorder of an attempt of a trace in a store.
 *
 * @param amend what is written of an event; default the event.
 */
export function createRecorder(
  store: TraceStore,
  traceId: string,
  attempt: number,
  amend: (body: EventBody) => EventBody = (body) => body,
): EventRecorder {
  return new EventRecorder({
    append: (body) => store.append(traceId, attempt, [amend(body)]),
    toStored: (value) => replaceBytes(value, (bytes, mimeType) => store.putBlob(traceId, bytes, mimeType)),
  });
}
