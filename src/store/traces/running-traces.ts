import type { EventBody, TraceEvent } from '../../contract/service/event.ts';
import type { AppendRequest } from './rows/event-rows.ts';
import type { OutcomeOwner } from './rows/outcome-rows.ts';
import { type TraceIdentity, TraceProjection } from './rows/projection.ts';

/** An unfinished trace with everything that its end needs. */
export interface RunningTrace {
  readonly owner: OutcomeOwner;
  /** JSON of the first event. */
  readonly first: string;
  readonly projection: TraceProjection;
  /** The number of its last event. */
  readonly lastSeq: number;
}

/** Largest number of traces in memory. The least recently used is dropped first. */
const MAX_TRACES = 1_000;
/**
 * Largest number of characters of a trace's events. A longer trace is read again at its end, which costs little
 * compared with the run.
 */
const MAX_CHARACTERS = 256 * 1_024;

/**
 * Projections of runs whose events were all written by this process, so that nothing has to be read at their end.
 * Another process may have written in the meantime. The number of the last event is then taken, and the write is rolled
 * back.
 */
export class RunningTraces {
  readonly #traces = new Map<string, RunningTrace & { characters: number; lastSeq: number }>();

  /** Starts a trace with its first event. */
  begin(identity: TraceIdentity, { owner, first }: Pick<RunningTrace, 'owner' | 'first'>): void {
    const projection = new TraceProjection(identity);
    const body = JSON.parse(first) as EventBody; // This layer wrote the JSON.
    projection.add({ seq: 1, at: new Date(owner.created_at).toISOString(), attempt: 1, ...body });
    this.#traces.set(identity.traceId, { owner, first, projection, lastSeq: 1, characters: first.length });
    if (this.#traces.size > MAX_TRACES) this.forget(this.#traces.keys().next().value ?? '');
  }

  /** Call it only after the commit. */
  add({ traceId, events: encoded }: AppendRequest, events: readonly TraceEvent[]): void {
    const trace = this.#traces.get(traceId);
    if (trace === undefined) return;
    this.#traces.delete(traceId); // Deleting and setting it again moves it to the end, as the most recently used.
    for (const { json } of encoded) trace.characters += json.length;
    if (trace.characters > MAX_CHARACTERS || events[0]?.seq !== trace.lastSeq + 1) return;
    for (const event of events) trace.projection.add(event);
    trace.lastSeq += events.length;
    this.#traces.set(traceId, trace);
  }

  /** Removes a trace and returns it if all of its events up to `lastSeq` are known here. */
  take(traceId: string, lastSeq: number): RunningTrace | undefined {
    const trace = this.#traces.get(traceId);
    this.#traces.delete(traceId);
    return trace?.lastSeq === lastSeq ? trace : undefined;
  }

  forget(traceId: string): void {
    this.#traces.delete(traceId);
  }
}
