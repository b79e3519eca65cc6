import type { ModelDeltaEvent, TraceEvent } from '../contract/event.ts';
import { ApiError } from './api-error.ts';
import { backoffMs, type Connection, isAway, MAX_FAILURES, sleep } from './connection.ts';

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
  { after = 0, signal }: EventsOptions = {},
): AsyncGenerator<TraceEvent | ModelDeltaEvent, void> {
  const place = { after };
  for (let failures = 0; ; ) {
    const before = place.after;
    try {
      if (yield* readConnection(connection, traceId, place, signal)) return;
    } catch (error) {
      signal?.throwIfAborted();
      if (!isAway(error) || failures >= MAX_FAILURES) throw error;
    }
    failures = place.after > before ? 0 : failures + 1;
    await sleep(backoffMs(Math.min(failures, 5)), signal);
  }
}

/** @returns true when there will be no more. */
async function* readConnection(
  connection: Connection,
  traceId: string,
  place: { after: number },
  given: AbortSignal | undefined,
): AsyncGenerator<TraceEvent | ModelDeltaEvent, boolean> {
  const gone = new AbortController();
  const signal = given === undefined ? gone.signal : AbortSignal.any([given, gone.signal]);
  const silence = new Silence(() =>
    gone.abort(new ApiError('Nothing came on the stream of events for too long', CUT_OFF)),
  );
  try {
    const response = await connection.open({
      method: 'GET',
      path: `/v1/traces/${encodeURIComponent(traceId)}/events`,
      headers: { accept: 'text/event-stream', ...(place.after > 0 ? { 'last-event-id': String(place.after) } : {}) },
      signal,
    });
    if (response.status === 204 || response.body === null) return true;
    for await (const event of parseFrames(readText(response.body, silence))) {
      if ('seq' in event) place.after = event.seq;
      yield event;
      if (event.type === 'run.finished') return true;
    }
    return false;
  } finally {
    silence.stop();
    gone.abort(); // Whoever stops to read closes the connection.
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

/** Not every browser iterates over a body. */
async function* readText(body: ReadableStream<Uint8Array>, silence: Silence): AsyncGenerator<string, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read().catch((cause: unknown) => {
      throw new ApiError('The stream of events was cut off', CUT_OFF, { cause });
    });
    if (done) return;
    silence.broken();
    yield decoder.decode(value, { stream: true });
  }
}

/** Of server-sent events the data, which have the rest. What is cut off in the middle of a frame is dropped. */
async function* parseFrames(texts: AsyncIterable<string>): AsyncGenerator<TraceEvent | ModelDeltaEvent, void> {
  let rest = '';
  for await (const text of texts) {
    const frames = (rest + text).replaceAll('\r\n', '\n').split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const lines = frame.split('\n').filter((line) => line.startsWith('data:'));
      const data = lines.map((line) => line.slice('data:'.length).replace(/^ /, '')).join('\n');
      if (data !== '') yield JSON.parse(data);
    }
  }
}
