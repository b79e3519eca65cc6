import type { ServerResponse } from 'node:http';
import { EventStream } from './event-stream.ts';
import { ResumableStream, type StreamLog } from './resumable-stream.ts';

/** Limits for one session. */
const MAX_EVENTS = 256;
const MAX_LENGTH = 1024 * 1024;

/** From this revision on clients know an event without data, which tells the id of a stream that has brought nothing yet. */
const FIRST_PRIMED_REVISION = '2025-11-25';

interface LoggedEvent {
  readonly stream: ResumableStream;
  readonly sequence: number;
  readonly text: string;
}

/**
 * Keeps the last events of a session's streams, so that a client that lost its connection gets the events that it missed
 * (`Last-Event-ID`). Bounded in events and characters: the oldest go first. An id is `<stream>-<sequence>`.
 */
export class EventLog implements StreamLog {
  readonly #streams = new Map<number, ResumableStream>();
  readonly #kept = new Map<ResumableStream, number>();
  #events: LoggedEvent[] = [];
  #length = 0;
  #lastStream = 0;

  /** Begins a stream on `response`. Where the revision has that, its first event is empty and tells its id and when to come back. */
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

  /** The stream of an event and the text of what followed it; undefined where that is not known, or not whole. */
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
