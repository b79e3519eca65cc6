import type { TraceEvent } from '../contract/event.ts';
import { TextStream } from '../http/text-stream.ts';
import { isFinal } from '../trace/trace-heads.ts';
import type { TraceStore } from '../trace/trace-store.ts';
import type { LiveDelta, LiveDeltas } from './live-deltas.ts';

export interface EventFeedOptions {
  readonly store: Pick<TraceStore, 'events' | 'row' | 'subscribe'>;
  readonly deltas: LiveDeltas;
  readonly traceId: string;
  /** The number of the last event that the reader has. */
  readonly after: number;
  /** Asked while it goes on: false ends it. */
  isPermitted(): Promise<boolean>;
  /** The reader is gone, or the service shuts down: it ends where it is, and its reader can resume. */
  readonly signal: AbortSignal;
  /** Milliseconds between comments, which keep proxies from closing a connection on which nothing happens. */
  readonly keepAliveMs: number;
  /** Told of what ends it but its reader and its run. */
  readonly onError: (error: unknown) => void;
}

/** Events that are read at once: what bounds the memory of a reader who is slow. */
const PAGE = 100;

/** The events of another process are not heard of here: the store is asked this often, in milliseconds. */
const POLL_EVERY_MS = 500;

/** A key that is revoked has to be out of force within 5 s (contract section 3, "Keys"). Milliseconds. */
const CHECK_PERMISSION_EVERY_MS = 2_000;

/**
 * The events of a trace as they are stored, from after the one that the reader has to the end of the run. They are read
 * from the store when the reader takes more, so that a slow one costs no memory and misses none. Deltas are for who is
 * up to date: of those that cannot be written at once none is kept.
 */
export function startEventFeed(options: EventFeedOptions): TextStream {
  const text = new TextStream();
  const feed = new EventFeed(options, text);
  feed.run().catch(options.onError);
  return text;
}

class EventFeed {
  readonly #options: EventFeedOptions;
  readonly #text: TextStream;
  readonly #signal: AbortSignal;
  readonly #refused = new AbortController();
  readonly #pending: LiveDelta[] = [];
  #after: number;
  #wake: () => void = () => {};
  #isWoken = false;
  #isPolled = false;

  constructor(options: EventFeedOptions, text: TextStream) {
    this.#options = options;
    this.#text = text;
    this.#after = options.after;
    this.#signal = AbortSignal.any([options.signal, this.#refused.signal]);
  }

  async run(): Promise<void> {
    const { store, deltas, traceId, keepAliveMs, onError } = this.#options;
    const signal = this.#signal;
    const wake = () => this.#wakeUp();
    const unsubscribe = store.subscribe(traceId, wake);
    const stopDeltas = deltas.subscribe(traceId, (delta) => this.#take(delta));
    const poll = setInterval(() => {
      this.#isPolled = true;
      this.#wakeUp();
    }, POLL_EVERY_MS);
    const permission = setInterval(() => void this.#checkPermission().catch(onError), CHECK_PERMISSION_EVERY_MS);
    const comments = setInterval(() => this.#comment(), keepAliveMs);
    signal.addEventListener('abort', wake, { once: true });
    try {
      while (!signal.aborted && !(await this.#writeStored())) {
        this.#writeDeltas();
        await this.#woken();
      }
    } finally {
      unsubscribe();
      stopDeltas();
      clearInterval(poll);
      clearInterval(permission);
      clearInterval(comments);
      signal.removeEventListener('abort', wake);
      this.#text.end();
    }
  }

  /** @returns true when there will be no more: the run has ended, or the trace is gone. */
  async #writeStored(): Promise<boolean> {
    const { store, traceId } = this.#options;
    const signal = this.#signal;
    let hasNew = false;
    for (;;) {
      const events = await store.events(traceId, { after: this.#after, limit: PAGE });
      for (const event of events) {
        this.#text.push(toFrame(event));
        this.#after = event.seq;
        // The event holds everything that was streamed before.
        if (event.type === 'model.responded' || event.type === 'run.queued') this.#pending.length = 0;
        if (event.type === 'run.finished') return true;
        await this.#taken();
        if (signal.aborted) return true;
      }
      hasNew ||= events.length > 0;
      if (events.length < PAGE) break;
    }
    if (hasNew || !this.#isPolled) return false;
    this.#isPolled = false;
    // Deleted meanwhile, or ended before the event that the reader says to have.
    const row = await store.row(traceId);
    return row === undefined || (isFinal(row) && row.lastSeq <= this.#after);
  }

  /** Until the reader takes more. */
  async #taken(): Promise<void> {
    while (this.#text.isBlocked && !this.#signal.aborted) {
      await Promise.race([this.#text.flowing(), this.#woken()]);
    }
  }

  async #woken(): Promise<void> {
    if (!this.#isWoken && !this.#signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#isWoken = false;
  }

  #wakeUp(): void {
    this.#isWoken = true;
    this.#wake();
  }

  /** Written after what is stored, since the event before it may still be on its way. */
  #take(delta: LiveDelta): void {
    if (this.#text.isBlocked) return;
    this.#pending.push(delta);
    this.#wakeUp();
  }

  #writeDeltas(): void {
    for (const delta of this.#pending.splice(0)) {
      this.#text.push(`event: model.delta\ndata: ${JSON.stringify({ type: 'model.delta', ...delta })}\n\n`);
    }
  }

  async #checkPermission(): Promise<void> {
    if (!(await this.#options.isPermitted())) this.#refused.abort(new Error('The key was revoked'));
  }

  #comment(): void {
    if (!this.#text.isBlocked) this.#text.push(': keep-alive\n\n');
  }
}

function toFrame({ seq, at, type, attempt, ...body }: TraceEvent): string {
  return `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ seq, at, type, attempt, ...body })}\n\n`;
}
