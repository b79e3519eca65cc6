import type { ModelDeltaEvent, TraceEvent } from '../../../contract/service/event.ts';
import type { TraceSummary } from '../../../contract/service/trace.ts';
import { TraceProjection, toSummary } from '../../../store/traces/rows/projection.ts';
import { followTrace, readTraceData } from '../api.ts';
import { oncePerFrame } from './once-per-frame.ts';
import { type AttemptView, Timeline } from './timeline.ts';

/** The state of a trace's page. */
export interface TraceState {
  readonly trace: TraceSummary;
  readonly attempts: readonly AttemptView[];
  /** The streamed part of the answer that is on its way. */
  readonly pending: { readonly content: string; readonly reasoning: string } | undefined;
  /** `reading` what is stored, `following` what comes, `away` while the server does not answer, `ended`. */
  readonly phase: 'reading' | 'following' | 'away' | 'ended';
}

/** Before a connection is tried again that could not be made for half a minute, in milliseconds. */
const PAUSE_MS = 5_000;

/**
 * Reads a trace, what is stored of it first, then what comes until its run has ended. It tells at most once per frame.
 *
 * @throws ApiError where there is no such trace; the reason of the signal, which ends it.
 */
export async function feedTrace(
  traceId: string,
  signal: AbortSignal,
  tell: (state: TraceState) => void,
): Promise<void> {
  const feed = new TraceFeed(tell, signal);
  let next: number | null = 0;
  while (next !== null) {
    const data = await readTraceData(traceId, next, signal);
    if (data.trace !== undefined) feed.begin(data.trace);
    feed.add(data.events);
    next = data.next;
  }
  await feed.follow(traceId);
}

class TraceFeed {
  readonly #tell: (state: TraceState) => void;
  readonly #signal: AbortSignal;
  readonly #show: () => void;
  readonly #timeline = new Timeline();
  #projection: TraceProjection | undefined;
  #trace: TraceSummary | undefined;
  #pending: TraceState['pending'];
  #phase: TraceState['phase'] = 'reading';
  #lastSeq = 0;
  #isEnded = false;

  constructor(tell: (state: TraceState) => void, signal: AbortSignal) {
    this.#tell = tell;
    this.#signal = signal;
    this.#show = oncePerFrame(signal, () => this.#draw());
  }

  begin(trace: TraceSummary): void {
    this.#trace = trace;
    // The server sends an ended run whole. A running one is projected here from now on.
    if (trace.finished_at === null) {
      this.#projection = new TraceProjection({ traceId: trace.trace_id, traceUrl: trace.trace_url });
    }
  }

  add(events: readonly (TraceEvent | ModelDeltaEvent)[]): void {
    for (const event of events) this.#addOne(event);
    this.#show();
  }

  async follow(traceId: string): Promise<void> {
    if (this.#trace?.finished_at !== null) this.#isEnded = true;
    while (!this.#isEnded) {
      this.#setPhase('following');
      const options = {
        after: this.#lastSeq,
        signal: this.#signal,
        onAway: (isAway: boolean) => this.#setPhase(isAway ? 'away' : 'following'),
      };
      try {
        for await (const event of followTrace(traceId, options)) this.add([event]);
        this.#isEnded = true;
      } catch (error) {
        this.#signal.throwIfAborted();
        this.#setPhase('away');
        console.warn(error);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
        this.#signal.throwIfAborted();
      }
    }
    this.#setPhase('ended');
  }

  #addOne(event: TraceEvent | ModelDeltaEvent): void {
    if (event.type === 'model.delta') {
      const { content = '', reasoning = '' } = this.#pending ?? {};
      this.#pending = {
        content: `${content}${event.content ?? event.refusal ?? ''}`,
        reasoning: `${reasoning}${event.reasoning ?? ''}`,
      };
      return;
    }
    this.#lastSeq = event.seq;
    this.#timeline.add(event);
    this.#projection?.add(event);
    if (event.type === 'model.responded' || event.type === 'run.queued' || event.type === 'run.finished') {
      this.#pending = undefined;
    }
  }

  #setPhase(phase: TraceState['phase']): void {
    this.#phase = phase;
    this.#show();
  }

  #draw(): void {
    const summary = this.#trace;
    if (summary === undefined) return;
    const isWhole = this.#projection !== undefined && this.#phase !== 'reading';
    const trace = isWhole && this.#projection !== undefined ? toSummary(this.#projection.toTrace()) : summary;
    this.#tell({ trace, attempts: this.#timeline.attempts(), pending: this.#pending, phase: this.#phase });
  }
}
