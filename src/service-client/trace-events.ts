import type { ModelDeltaEvent, TraceEvent } from '../contract/event.ts';
import { ApiError } from './api-error.ts';
import { type Connection, isAway, MAX_FAILURES, waitToRetry } from './connection.ts';
import { readEventData } from './event-data.ts';

export interface EventsOptions {
  /** The number of the last event that is known already: those that follow it come. Default 0: all. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

/** Comments come every 10 s: a connection on which nothing comes for longer is dead. In milliseconds. */
const SILENT_MS = 45_000;

const CUT_OFF = { status: 0, code: 'connection_failed', type: 'server_error' } as const;

/**
 * The events of a trace, stored ones and those that come, to `run.finished`. A connection that is lost, or that a
 * service ends which shuts down, is opened again where it was: no event is missed, and none comes twice. Deltas of the
 * time between are lost.
 *
 * @throws ApiError, for a connection when it was lost several times in a row; the reason of the signal.
 */
export async function* readTraceEvents(
  connection: Connection,
  traceId: string,
  options: EventsOptions = {},
): AsyncGenerator<TraceEvent | ModelDeltaEvent, void> {
  yield* readEventsAt(connection, `/v1/traces/${encodeURIComponent(traceId)}/events`, options);
}

/** The same from another path of the server. */
export async function* readEventsAt(
  connection: Connection,
  path: string,
  options: EventsOptions = {},
): AsyncGenerator<TraceEvent | ModelDeltaEvent, void> {
  yield* readEventsUntil<TraceEvent | ModelDeltaEvent>(connection, path, isRunFinished, options);
}

function isRunFinished({ type }: TraceEvent | ModelDeltaEvent): boolean {
  return type === 'run.finished';
}

/** Any stream of numbered events, to one that is the last. @throws as `readTraceEvents` */
export async function* readEventsUntil<Event extends object>(
  connection: Connection,
  path: string,
  isLast: (event: Event) => boolean,
  { after = 0, signal }: EventsOptions = {},
): AsyncGenerator<Event, void> {
  const place = { after };
  for (let failures = 0; ; ) {
    const before = place.after;
    try {
      if (yield* readConnection(connection, path, isLast, place, signal)) return;
    } catch (error) {
      signal?.throwIfAborted();
      if (!isAway(error) || failures >= MAX_FAILURES) throw error;
    }
    failures = place.after > before ? 0 : failures + 1;
    await waitToRetry(failures, signal);
  }
}

/** @returns true when there will be no more. */
async function* readConnection<Event extends object>(
  connection: Connection,
  path: string,
  isLast: (event: Event) => boolean,
  place: { after: number },
  given: AbortSignal | undefined,
): AsyncGenerator<Event, boolean> {
  const gone = new AbortController();
  const signal = given === undefined ? gone.signal : AbortSignal.any([given, gone.signal]);
  const silence = new Silence(() =>
    gone.abort(new ApiError('Nothing came on the stream of events for too long', CUT_OFF)),
  );
  try {
    const response = await connection.open({
      method: 'GET',
      path,
      headers: { accept: 'text/event-stream', ...(place.after > 0 ? { 'last-event-id': String(place.after) } : {}) },
      signal,
    });
    if (response.status === 204 || response.body === null) return true;
    for await (const event of readEvents<Event>(response.body, silence)) {
      if ('seq' in event && typeof event.seq === 'number') place.after = event.seq;
      yield event;
      if (isLast(event)) return true;
    }
    return false;
  } finally {
    silence.stop();
    gone.abort(); // A reader that stops closes the connection.
  }
}

/** Calls back when it was not told of anything for too long. */
class Silence {
  readonly #onTooLong: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onTooLong: () => void) {
    this.#onTooLong = onTooLong;
    this.broken();
  }

  broken(): void {
    this.stop();
    this.#timer = setTimeout(this.#onTooLong, SILENT_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** Events hold everything that their other fields say. */
async function* readEvents<Event>(body: ReadableStream<Uint8Array>, silence: Silence): AsyncGenerator<Event, void> {
  const texts = readEventData(body, () => silence.broken());
  for (;;) {
    const next = await texts.next().catch((cause: unknown) => {
      throw new ApiError('The stream of events was cut off', CUT_OFF, { cause });
    });
    if (next.done) return;
    yield JSON.parse(next.value);
  }
}
