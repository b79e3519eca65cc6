import { TextStream } from '../../support/http/text-stream.ts';
import { untilAborted } from '../../support/runtime/deadline.ts';
import { startKeepAlive } from '../../support/runtime/keep-alive.ts';
import { startLoop } from '../../support/runtime/loop.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import type { LiveDelta } from './live-deltas.ts';

/** An event with its sequence number. */
export interface FeedEvent {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
}

/** Source of stored events. */
export interface FeedSource {
  /** Reads events after this sequence number, in order. */
  read(after: number, limit: number): Promise<readonly FeedEvent[]>;
  /** True if no event follows this one. */
  isLast?(event: FeedEvent): boolean;
  /** True if no event follows this sequence number. */
  isOver(after: number): Promise<boolean>;
  /** Calls `wake` for new events of this process. @returns a function that unsubscribes. */
  subscribe?(wake: () => void): () => void;
}

/** Source of text that is streamed between events but not stored. */
export interface DeltaSource {
  /** @returns a function that unsubscribes. */
  subscribe(take: (delta: LiveDelta) => void): () => void;
  /** True if the event contains all text that was streamed before it. */
  isHeldBy(event: FeedEvent): boolean;
}

export interface EventFeedOptions {
  readonly source: FeedSource;
  readonly deltas?: DeltaSource | undefined;
  /** Sequence number of the last event that the reader has. */
  readonly after: number;
  /** Checked periodically; false ends the feed. */
  isPermitted(): Promise<boolean>;
  /** Aborted when the reader disconnects or the service shuts down. The reader can resume later. */
  readonly signal: AbortSignal;
  /** Milliseconds between two comments, which keep proxies from closing an idle connection. */
  readonly keepAliveMs: number;
  /** Gets an error that ends the feed early. */
  readonly onError: (error: unknown) => void;
}

/** Events of one read. It bounds the memory that a slow reader needs. */
const PAGE = 100;

/**
 * Streams stored and new events as server-sent events, from the reader's position to the last one. Events are read
 * only as fast as the reader takes them. Deltas go only to a reader that is up to date; a delta that cannot be written
 * at once is dropped.
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
  /** True at the start, so that an ended source is noticed. */
  #isPolled = true;

  constructor(options: EventFeedOptions, text: TextStream) {
    this.#options = options;
    this.#text = text;
    this.#after = options.after;
    this.#signal = AbortSignal.any([options.signal, this.#refused.signal]);
  }

  async run(): Promise<void> {
    const { source, deltas, keepAliveMs, onError } = this.#options;
    const signal = this.#signal;
    const wake = () => this.#wakeUp();
    const unsubscribe = source.subscribe?.(wake);
    const stopDeltas = deltas?.subscribe((delta) => this.#take(delta));
    const poll = startLoop({ look: () => this.#poll(), restMs: PERIODS_MS.follow, onError });
    const permission = startLoop({ look: () => this.#checkPermission(), restMs: PERIODS_MS.permissions, onError });
    const comments = startKeepAlive(() => this.#comment(), keepAliveMs);
    signal.addEventListener('abort', wake, { once: true });
    try {
      while (!signal.aborted && !(await this.#writeStored())) {
        this.#writeDeltas();
        await this.#woken();
      }
    } finally {
      unsubscribe?.();
      stopDeltas?.();
      void poll.stop();
      void permission.stop();
      comments.stop();
      signal.removeEventListener('abort', wake);
      this.#text.end();
    }
  }

  /** @returns true if nothing will follow: the last event was sent, or the source was deleted. */
  async #writeStored(): Promise<boolean> {
    const { source, deltas } = this.#options;
    for (;;) {
      const events = await source.read(this.#after, PAGE);
      for (const event of events) {
        this.#text.push(toFrame(event));
        this.#after = event.seq;
        if (deltas?.isHeldBy(event)) this.#pending.length = 0;
        if (source.isLast?.(event)) return true;
        await this.#taken();
        if (this.#signal.aborted) return true;
      }
      if (events.length < PAGE) break;
    }
    if (!this.#isPolled) return false;
    this.#isPolled = false;
    return await source.isOver(this.#after);
  }

  /** Waits until the reader takes more. */
  async #taken(): Promise<void> {
    while (this.#text.isBlocked && !this.#signal.aborted) {
      await untilAborted(this.#text.flowing(), this.#signal).catch(() => {}); // An abort ends the loop.
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

  #poll(): void {
    this.#isPolled = true;
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#isWoken = true;
    this.#wake();
  }

  /** Writes stored events first, since the event before this delta may not be sent yet. */
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

function toFrame({ seq, at, type, ...body }: FeedEvent): string {
  return `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ seq, at, type, ...body })}\n\n`;
}
