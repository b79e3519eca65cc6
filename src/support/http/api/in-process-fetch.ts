import { randomUUID } from 'node:crypto';
import { ApiError } from '../../../contract/errors.ts';
import { withDeadline } from '../../runtime/deadline.ts';
import { type HttpLog, toErrorReply } from '../request-log.ts';
import { REQUEST_ID_HEADER } from '../socket-reply.ts';
import type { TextStream } from '../text-stream.ts';
import { answerRoute } from './answer-request.ts';
import { withinLimit } from './body.ts';
import type { Caller, RouteReply } from './route.ts';
import type { RouteTable } from './route-table.ts';

export interface InProcessFetchOptions {
  readonly table: RouteTable;
  /** The caller of every request. */
  readonly caller: Caller;
  readonly logger: HttpLog;
  readonly closing?: AbortSignal;
  /** Called with a promise for each request that may change something; the promise settles with the answer. */
  readonly track?: (answering: Promise<unknown>) => void;
}

/** The part of `fetch` that service clients use. */
export type InProcessFetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * A `fetch` for the routes of this process. Requests and replies are those of the server, without a socket, a key or a
 * body limit.
 */
export function createInProcessFetch({ table, caller, logger, closing, track }: InProcessFetchOptions): InProcessFetch {
  // Other errors reach the caller. Only internal errors are logged.
  const log: HttpLog = {
    warn: () => {},
    error: (line, message) => void (line.code === 'internal_error' && logger.error(line, message)),
  };
  const answer = async (url: string, init: RequestInit, requestId: string, signal: AbortSignal) => {
    const { pathname, search } = new URL(url);
    const method = init.method ?? 'GET';
    const found = await table.find(pathname);
    const route = found?.routes.find((each) => each.method === method);
    if (found === undefined || route === undefined) {
      throw new ApiError('unknown_url', `Unknown URL: ${method} ${pathname.slice(0, 200)}.`);
    }
    const headers = Object.fromEntries(new Headers(init.headers));
    const readBody = async () => (typeof init.body === 'string' ? JSON.parse(init.body) : undefined);
    const readFile = (limitBytes: number) =>
      withinLimit(new Response(init.body).body ?? new ReadableStream(), limitBytes);
    const { params } = found;
    const request = { requestId, method, path: pathname, search, params, headers, caller, signal, readBody, readFile };
    return await answerRoute(route, request, closing);
  };
  return async (url, init) => {
    const requestId = randomUUID();
    const client = new Presence(init.signal ?? undefined);
    try {
      const answering = answer(url, init, requestId, client.gone);
      if (init.method !== 'GET') track?.(answering);
      const reply = await withDeadline(() => answering, { signal: client.gone });
      return toResponse(reply, requestId, client);
    } catch (thrown) {
      client.leave();
      init.signal?.throwIfAborted();
      return toResponse(toErrorReply(thrown, requestId, log), requestId, client);
    }
  };
}

/** Tracks whether the caller is still there. After the reply is complete its abort has no effect on the handler. */
class Presence {
  readonly #controller = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = () => this.#controller.abort(this.#signal?.reason);

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    if (signal?.aborted) this.#onAbort();
    signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  get gone(): AbortSignal {
    return this.#controller.signal;
  }

  leave(): void {
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  hangUp(): void {
    this.leave();
    this.#controller.abort(new Error('The client went away'));
  }
}

function toResponse(
  { status = 200, headers, body, stream }: RouteReply,
  requestId: string,
  client: Presence,
): Response {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const type: Record<string, string> = isRaw || body === undefined ? {} : { 'content-type': 'application/json' };
  const init = { status, headers: { ...type, ...headers, [REQUEST_ID_HEADER]: requestId } };
  if (stream !== undefined) return new Response(toReadable(stream, client), init);
  client.leave();
  if (status === 204) return new Response(null, init);
  if (body instanceof Uint8Array) return new Response(Uint8Array.from(body), init);
  return new Response(typeof body === 'string' || body === undefined ? body : JSON.stringify(body), init);
}

/** A readable stream with backpressure: when its reader is slow, the writer waits as for a slow client. */
function toReadable(stream: TextStream, client: Presence): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const { gone } = client;
      const onGone = () => controller.error(gone.reason);
      if (gone.aborted) return onGone();
      gone.addEventListener('abort', onGone, { once: true });
      const end = (close: () => void) => {
        gone.removeEventListener('abort', onGone);
        client.leave();
        if (!gone.aborted) close();
      };
      stream.readTo({
        write: (text) => {
          if (gone.aborted) return true;
          controller.enqueue(encoder.encode(text));
          return (controller.desiredSize ?? 0) > 0;
        },
        end: () => end(() => controller.close()),
        cut: () => end(() => controller.error(new Error('The reader was too slow'))),
      });
    },
    pull: () => stream.drained(),
    cancel: () => client.hangUp(),
  });
}
