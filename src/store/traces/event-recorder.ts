import type { Json } from '../../contract/json.ts';
import type { EventBody } from '../../contract/service/event.ts';
import { replaceBytes } from './rows/blob-references.ts';
import type { TraceStore } from './trace-store.ts';

/** The destination of the events of one attempt. */
export interface EventSink {
  /** Appends settle in the order in which they were made. */
  append(body: EventBody): Promise<unknown>;
  /** Replaces bytes over 16 KiB (base64 of images and other content) by blob references, as the store does. */
  toStored<T extends Json>(value: T): Promise<T>;
}

/**
 * The recorder of one attempt. `record` does not wait; `settled` does. Events are written in the order of the calls.
 * After the first failed write it aborts `failed` and writes nothing more, because a trace with a gap would be
 * misleading. Every later wait rejects with that error. After `end` nothing is written either.
 */
export class EventRecorder {
  readonly #sink: EventSink;
  readonly #failed = new AbortController();
  /** The last append. Appends settle in order, so waiting for it waits for all. */
  #last: Promise<void> = Promise.resolve();
  #hasEnded = false;

  constructor(sink: EventSink) {
    this.#sink = sink;
  }

  /** Aborted with the error of the first failed write, such as an `AttemptSupersededError`. */
  get failed(): AbortSignal {
    return this.#failed.signal;
  }

  record(body: EventBody): void {
    if (this.#hasEnded || this.failed.aborted) return;
    this.#last = this.#append(body);
  }

  /** Waits until all events are written. @throws the first failure. */
  async settled(): Promise<void> {
    await this.#last;
    this.failed.throwIfAborted();
  }

  /** @throws the first failure, which may come from this call. */
  async toStored<T extends Json>(value: T): Promise<T> {
    this.failed.throwIfAborted();
    try {
      return await this.#sink.toStored(value);
    } catch (error) {
      this.#failed.abort(error);
      throw this.failed.reason;
    }
  }

  /** Like `settled`. Later events, such as late logs, are dropped. */
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

/** The methods of a recorder that a turn uses. */
export type TurnRecorder = Pick<EventRecorder, 'record' | 'settled' | 'toStored'>;

/**
 * Creates the recorder of an attempt of a stored trace.
 *
 * @param amend changes each event before it is written. Default: no change.
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
