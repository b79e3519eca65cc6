import { randomBytes } from 'node:crypto';
import type { EventBody, TraceEvent } from '../contract/event.ts';
import type { Trace } from '../contract/trace.ts';
import type { EventSink } from './event-recorder.ts';
import { projectTrace } from './projection.ts';

/** Numbers and stamps the events of one attempt as a store does, without a store. */
export class EventLog implements EventSink {
  readonly traceId = randomBytes(16).toString('hex');
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
    // Nothing serves it: the address names the trace and opens nothing.
    return projectTrace(this.#events, { traceId: this.traceId, traceUrl: `memory:${this.traceId}` });
  }
}
