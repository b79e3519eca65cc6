import type { EventBody, TraceEvent } from '../../contract/service/event.ts';
import type { Trace } from '../../contract/service/trace.ts';
import { newId } from '../../support/runtime/new-id.ts';
import type { EventSink } from './event-recorder.ts';
import { projectTrace } from './rows/projection.ts';

/** Numbers and timestamps the events of one attempt as a store does, but only in memory. */
export class EventLog implements EventSink {
  readonly traceId = newId();
  readonly #events: TraceEvent[] = [];

  async append(body: EventBody): Promise<void> {
    const stamp = { seq: this.#events.length + 1, at: new Date().toISOString(), attempt: 1 };
    this.#events.push({ ...structuredClone(body), ...stamp });
  }

  async toStored<T>(value: T): Promise<T> {
    return value;
  }

  get events(): readonly TraceEvent[] {
    return this.#events;
  }

  toTrace(): Trace {
    // The address only names the trace; no server serves it.
    return projectTrace(this.#events, { traceId: this.traceId, traceUrl: `memory:${this.traceId}` });
  }
}
