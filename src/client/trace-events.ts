import { createParser } from 'eventsource-parser';
import { ApiError } from '../contract/errors.ts';
import type { ModelDeltaEvent, TraceEvent } from '../contract/service/event.ts';
import { type Connection, isAway, MAX_FAILURES, type ServiceRequest, waitToRetry } from './connection.ts';

export interface EventsOptions {
  /** Sequence number after which events are read. Default 0: all. */
  readonly after?: number;
  /** False reads stored events only. Default true. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** Milliseconds without data after which a connection counts as dead. The service sends a comment every 10 s. */
const SILENT_MS = 45_000;

/**
 * Yields the stored and new events of a trace until `run.finished`. A connection that is lost or closed by a shutdown
 * is reopened at the same position, so no event is missed or repeated. Deltas in between are lost.
 *
 * @throws ApiError, also after several lost connections in a row; the reason of the signal.
 */
export async function* readTraceEvents(
  connection: Connection,
  traceId: string,
  options: EventsOptions = {},
): AsyncGenerator<TraceEvent | ModelDeltaEvent, void> {
  yield* readEventsAt(connection, `/v1/traces/${encodeURIComponent(traceId)}/events`, options);
}

/** Reads events from another path of the server. */
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

/** Reads any stream of numbered events until the last one. @throws as `readTraceEvents` */
export async function* readEventsUntil<Event extends object>(
  connection: Connection,
  path: string,
  isLast: (event: Event) => boolean,
  { after = 0, follow = true, signal }: EventsOptions = {},
): AsyncGenerator<Event, void> {
  const address = follow ? path : `${path}?follow=false`;
  const place = { after };
  for (let failures = 0; ; ) {
    const before = place.after;
    try {
      if ((yield* readConnection(connection, address, isLast, place, signal)) || !follow) return;
    } catch (error) {
      signal?.throwIfAborted();
      if (!isAway(error) || failures >= MAX_FAILURES) throw error;
    }
    failures = place.after > before ? 0 : failures + 1;
    await waitToRetry(failures, signal);
  }
}

/** @returns true if no more events will follow. */
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
    gone.abort(new ApiError('connection_failed', 'Nothing came on the stream of events for too long')),
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

/**
 * Yields the events of work that a service does for one request. The work ends when the reader stops.
 *
 * @throws ApiError for a refused request, and for a stream that ends early; the reason of the signal.
 */
export async function* readWork<Event extends { readonly type: string }>(
  connection: Connection,
  request: Pick<ServiceRequest, 'path' | 'body' | 'file'>,
  isLast: (event: Event) => boolean,
  given?: AbortSignal,
): AsyncGenerator<Event, void> {
  const gone = new AbortController();
  const signal = given === undefined ? gone.signal : AbortSignal.any([given, gone.signal]);
  const silence = new Silence(() =>
    gone.abort(new ApiError('connection_failed', `Nothing came in the reply to ${request.path} for too long`)),
  );
  try {
    const headers = { accept: 'text/event-stream' };
    const sent = request.file === undefined ? request : { ...request, file: heard(request.file, silence) };
    const { body } = await connection.open({ ...sent, method: 'POST', headers, signal });
    for await (const event of body === null ? [] : readEvents<Event | WorkError>(body, silence)) {
      if (isError(event)) throw toApiError(event);
      yield event;
      if (isLast(event)) return;
    }
    throw new ApiError('connection_failed', `The reply to ${request.path} was cut off`);
  } catch (error) {
    signal.throwIfAborted(); // The cut connection is only how an abort shows.
    throw error;
  } finally {
    silence.stop();
    gone.abort(); // A reader that stops closes the connection.
  }
}

/** A file that is sent is no silence. */
function heard(file: BodyInit, silence: Silence): BodyInit {
  if (!(file instanceof ReadableStream)) return file;
  const listening = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      silence.broken();
      controller.enqueue(piece);
    },
  });
  return file.pipeThrough(listening);
}

interface WorkError {
  readonly type: 'error';
  readonly error: Pick<ApiError, 'code' | 'message' | 'param'>;
}

function isError(event: { readonly type: string }): event is WorkError {
  return event.type === 'error';
}

function toApiError({ error: { code, message, param } }: WorkError): ApiError {
  return new ApiError(code, message, { param });
}

/** Calls back after a time without data. */
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

/** Parses events. Their data contains all other fields of the event. */
async function* readEvents<Event>(body: ReadableStream<Uint8Array>, silence: Silence): AsyncGenerator<Event, void> {
  const texts = readEventData(body, () => silence.broken());
  for (;;) {
    const next = await texts.next().catch((cause: unknown) => {
      throw new ApiError('connection_failed', 'The stream of events was cut off', { cause });
    });
    if (next.done) return;
    yield JSON.parse(next.value);
  }
}

/**
 * Yields the data of server-sent events; an incomplete event is dropped. `onBytes` is called for all received data,
 * including comments.
 *
 * @throws an error of the body.
 */
export async function* readEventData(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<string, void> {
  const events: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => events.push(data) });
  const decoder = new TextDecoder();
  // Some browsers cannot iterate over a body.
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    onBytes();
    parser.feed(decoder.decode(value, { stream: true }));
    yield* events.splice(0);
  }
}
