import type { ServerResponse } from 'node:http';
import { EventStream } from './event-stream.ts';
import { ResumableStream, type StreamLog } from './resumable-stream.ts';

/** Limits for one session: number of events, and characters. */
const MAX_EVENTS = 256;
const MAX_LENGTH = 1024 * 1024;

/**
 * The first revision whose clients understand an event without data. It tells them the id of a stream before its first
 * message.
 */
const FIRST_PRIMED_REVISION = '2025-11-25';

interface LoggedEvent {
  readonly stream: ResumableStream;
  readonly sequence: number;
  readonly text: string;
}

/**
 * Keeps the last events of a session's streams, so that a client that lost its connection gets the missed events
 * (`Last-Event-ID`). When the number of events or characters exceeds its limit, the oldest are dropped. An event id is
 * `<stream>-<sequence>`.
 */
export class EventLog implements StreamLog {
  readonly #streams = new Map<number, ResumableStream>();
  readonly #kept = new Map<ResumableStream, number>();
  #events: LoggedEvent[] = [];
  #length = 0;
  #lastStream = 0;

  /**
   * Starts a stream on `response`. If the revision supports it, the first event is empty and contains the stream's id
   * and the delay before a reconnect.
   */
  openStream(response: ServerResponse, headers: Readonly<Record<string, string>>, protocol: string): ResumableStream {
    this.#lastStream += 1;
    const isPrimed = protocol >= FIRST_PRIMED_REVISION;
    const stream = new ResumableStream(this.#lastStream, new EventStream(response, headers), this, isPrimed);
    this.#streams.set(stream.number, stream);
    return stream;
  }

  add(stream: ResumableStream, sequence: number, text: string): void {
    this.#events.push({ stream, sequence, text });
    this.#length += text.length;
    this.#kept.set(stream, (this.#kept.get(stream) ?? 0) + 1);
    let dropped = 0;
    while (this.#events.length - dropped > MAX_EVENTS || this.#length > MAX_LENGTH) {
      this.#drop(this.#events[dropped]);
      dropped += 1;
    }
    if (dropped > 0) this.#events = this.#events.slice(dropped);
  }

  ended(stream: ResumableStream): void {
    if (!this.#kept.has(stream)) this.#streams.delete(stream.number);
  }

  /**
   * The stream of an event, and the text of the events after it. Undefined if the event is unknown or later events were
   * dropped.
   */
  after(id: string): { readonly stream: ResumableStream; readonly missed: string } | undefined {
    const [, number, last] = /^(\d{1,15})-(\d{1,15})$/.exec(id) ?? [];
    const stream = this.#streams.get(Number(number));
    if (stream === undefined || stream.lostUpTo > Number(last) || Number(last) > stream.lastSequence) return undefined;
    const missed = this.#events.filter((event) => event.stream === stream && event.sequence > Number(last));
    return { stream, missed: missed.map(({ text }) => text).join('') };
  }

  #drop(event: LoggedEvent | undefined): void {
    if (event === undefined) return;
    const { stream, sequence, text } = event;
    this.#length -= text.length;
    stream.lostUpTo = sequence;
    const kept = (this.#kept.get(stream) ?? 1) - 1;
    if (kept > 0) {
      this.#kept.set(stream, kept);
      return;
    }
    this.#kept.delete(stream);
    if (stream.isEnded) this.#streams.delete(stream.number);
  }
}
