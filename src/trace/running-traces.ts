import type { EventBody, TraceEvent } from '../contract/event.ts';
import type { AppendRequest } from './event-rows.ts';
import type { OutcomeOwner } from './outcome-rows.ts';
import { type TraceIdentity, TraceProjection } from './projection.ts';

/** All that is written of a trace which has not ended. */
export interface RunningTrace {
  readonly owner: OutcomeOwner;
  /** The body of its first event, JSON. */
  readonly first: string;
  readonly projection: TraceProjection;
  /** The number of its last event. */
  readonly lastSeq: number;
}

/** Traces at most; the least recently used goes first. */
const MAX_TRACES = 1_000;
/** Characters of the events of one trace. A longer one is read again at its end, which is little beside the rest of it. */
const MAX_CHARACTERS = 256 * 1_024;

/**
 * Runs whose events were all written by this process, projected as they come: at their end nothing has to be read. As
 * with heads, another process may have written since; then the number of the last event is taken, and all is undone.
 */
export class RunningTraces {
  readonly #traces = new Map<string, RunningTrace & { characters: number; lastSeq: number }>();

  /** A trace whose only event is its first. */
  begin(identity: TraceIdentity, { owner, first }: Pick<RunningTrace, 'owner' | 'first'>): void {
    const projection = new TraceProjection(identity);
    const body = JSON.parse(first) as EventBody; // what this layer wrote
    projection.add({ seq: 1, at: new Date(owner.created_at).toISOString(), attempt: 1, ...body });
    this.#traces.set(identity.traceId, { owner, first, projection, lastSeq: 1, characters: first.length });
    if (this.#traces.size > MAX_TRACES) this.forget(this.#traces.keys().next().value ?? '');
  }

  /** To be told after the commit alone. */
  add({ traceId, events: encoded }: AppendRequest, events: readonly TraceEvent[]): void {
    const trace = this.#traces.get(traceId);
    if (trace === undefined) return;
    this.#traces.delete(traceId); // to the end: most recently used
    for (const { json } of encoded) trace.characters += json.length;
    if (trace.characters > MAX_CHARACTERS || events[0]?.seq !== trace.lastSeq + 1) return;
    for (const event of events) trace.projection.add(event);
    trace.lastSeq += events.length;
    this.#traces.set(traceId, trace);
  }

  /** Gives a trace away, where all of its events up to that number are known here. */
  take(traceId: string, lastSeq: number): RunningTrace | undefined {
    const trace = this.#traces.get(traceId);
    this.#traces.delete(traceId);
    return trace?.lastSeq === lastSeq ? trace : undefined;
  }

  forget(traceId: string): void {
    this.#traces.delete(traceId);
  }
}
