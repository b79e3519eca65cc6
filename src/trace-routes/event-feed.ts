import { TextStream } from '../http/text-stream.ts';
import type { LiveDelta } from './live-deltas.ts';

/** An event with its place in the order. */
export interface FeedEvent {
  readonly seq: number;
  readonly at: string;
  readonly type: string;
}

/** Events that are stored. */
export interface FeedSource {
  /** From after this number, in their order. */
  read(after: number, limit: number): Promise<readonly FeedEvent[]>;
  /** Whether it is the last one that there will be. */
  isLast?(event: FeedEvent): boolean;
  /** Whether there will be none after this number. */
  isOver(after: number): Promise<boolean>;
  /** Tells of new ones of this process. @returns the way to stop. */
  subscribe?(wake: () => void): () => void;
}

/** Text that is sent between events and not stored. */
export interface DeltaSource {
  /** @returns the way to stop. */
  subscribe(take: (delta: LiveDelta) => void): () => void;
  /** Whether this event holds all that was streamed before it. */
  isHeldBy(event: FeedEvent): boolean;
}

export interface EventFeedOptions {
  readonly source: FeedSource;
  readonly deltas?: DeltaSource | undefined;
  /** The number of the last event that the reader has. */
  readonly after: number;
  /** Asked while it goes on: false ends it. */
  isPermitted(): Promise<boolean>;
  /** The reader is gone, or the service shuts down: it ends where it is, and its reader can resume. */
  readonly signal: AbortSignal;
  /** Milliseconds between comments, which keep proxies from closing a connection on which nothing happens. */
  readonly keepAliveMs: number;
  /** Told of what ends it but its reader and its last event. */
  readonly onError: (error: unknown) => void;
}

/** Events that are read at once: what bounds the memory of a reader who is slow. */
const PAGE = 100;

/** Events of another process are not heard of here: the source is asked this often, in milliseconds. */
const POLL_EVERY_MS = 500;

/** A key that is revoked has to be out of force within 5 s (contract section 3, "Keys"). Milliseconds. */
const CHECK_PERMISSION_EVERY_MS = 2_000;

/**
 * Events as server-sent events: those that are stored and those that come, from after the one that the reader has to the
 * last. They are read when the reader takes more, so that a slow one costs no memory and misses none. Deltas are for who
 * is up to date: of those that cannot be written at once none is kept.
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
  /** Asked at the start too: what has ended has no more. */
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
      unsubscribe?.();
      stopDeltas?.();
      clearInterval(poll);
      clearInterval(permission);
      clearInterval(comments);
      signal.removeEventListener('abort', wake);
      this.#text.end();
    }
  }

  /** @returns true when there will be no more: the last one was sent, or what they are of is gone. */
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

function toFrame({ seq, at, type, ...body }: FeedEvent): string {
  return `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ seq, at, type, ...body })}\n\n`;
}
