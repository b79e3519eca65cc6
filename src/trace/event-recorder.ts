import type { EventBody } from '../contract/event.ts';
import type { Json } from '../contract/json.ts';
import { replaceBytes } from './blob-references.ts';
import type { EventRecorder } from './recorder.ts';
import type { TraceStore } from './trace-store.ts';

/**
 * The recorder of one attempt of a trace. Events are written in the order in which they are recorded. After the first
 * failure nothing more is recorded, since a trace with a hole would tell another story; `settled` then always rejects.
 */
export function createRecorder(store: TraceStore, traceId: string, attempt: number): EventRecorder {
  return new StoreRecorder(store, traceId, attempt);
}

class StoreRecorder implements EventRecorder {
  readonly #store: TraceStore;
  readonly #traceId: string;
  readonly #attempt: number;
  /** The store settles appends in order, so that the last one stands for all. */
  #last: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;

  constructor(store: TraceStore, traceId: string, attempt: number) {
    this.#store = store;
    this.#traceId = traceId;
    this.#attempt = attempt;
  }

  record(body: EventBody): void {
    if (this.#failure !== undefined) return;
    this.#last = this.#append(body);
  }

  async settled(): Promise<void> {
    await this.#last;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async toStored<T extends Json>(value: T): Promise<T> {
    return await replaceBytes(value, (bytes, mimeType) => this.#store.putBlob(this.#traceId, bytes, mimeType));
  }

  async #append(body: EventBody): Promise<void> {
    try {
      await this.#store.append(this.#traceId, this.#attempt, [body]);
    } catch (error) {
      this.#failure ??= { error };
    }
  }
}
