import type { Logger } from 'pino';
import type { Accounts } from '../accounts/accounts.ts';
import { accountOf } from '../http/api-keys.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { TextStream } from '../http/text-stream.ts';
import { isFinal } from '../trace/trace-heads.ts';
import type { TraceRow, TraceStore } from '../trace/trace-store.ts';
import { startEventFeed } from './event-feed.ts';
import { parseLastEventId } from './last-event-id.ts';
import { LiveDeltas } from './live-deltas.ts';
import { findRow, type TraceAccess } from './traces-route.ts';

export interface EventsRouteOptions {
  readonly store: TraceStore;
  readonly accounts: Pick<Accounts, 'isKeyInForce'>;
  readonly access: TraceAccess;
  /** Where text of a model comes from while it streams; undefined: events alone. */
  readonly deltas?: LiveDeltas;
  readonly logger: Logger;
  /** Aborted when the service shuts down. */
  readonly closing: AbortSignal;
  /** Another way to a trace than its id. Default: `/v1/traces/{trace_id}/events`. */
  readonly place?: EventsPlace | undefined;
  /** For tests. */
  readonly keepAliveMs?: number | undefined;
}

/** Where the events of a trace are, and which trace that is. */
export interface EventsPlace {
  readonly path: string;
  /** @throws ApiError for what this account does not have. */
  find(params: RouteRequest['params'], account: string): Promise<TraceRow>;
}

const KEEP_ALIVE_MS = 10_000;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;

/**
 * `GET /v1/traces/{trace_id}/events`: the events of a trace as server-sent events, those that are stored and those that
 * come, until `run.finished` or until the key is revoked. Who has that one already is told so by 204, so that an `EventSource` stops to reconnect.
 */
export function createEventsRoute(options: EventsRouteOptions): Route {
  const { store, accounts, access, deltas = new LiveDeltas(), logger, closing, keepAliveMs = KEEP_ALIVE_MS } = options;
  const { path, find } = options.place ?? tracePlace(store);
  return defineRoute({
    method: 'GET',
    path,
    summary: 'The events of a trace as they come, as server-sent events, until run.finished',
    access,
    about: {
      requestHeaders: { 'Last-Event-ID': 'The `id` of the last event that was received: what follows it is sent' },
      contentType: 'text/event-stream',
      statuses: { 200: 'The events', 204: 'The run has ended, and Last-Event-ID is its last event' },
      errors: ['trace_not_found'],
    },
    async handle({ requestId, method, params, headers, caller, signal }) {
      const row = await find(params, accountOf(caller));
      const after = parseLastEventId(headers['last-event-id']);
      if (after >= row.lastSeq && isFinal(row)) return { status: 204 };
      if (method === 'HEAD') return { headers: HEADERS, stream: endedStream() };
      const stream = startEventFeed({
        store,
        deltas,
        traceId: row.traceId,
        after,
        isPermitted: async () => !caller?.keyId || (await accounts.isKeyInForce(caller.keyId)),
        signal: AbortSignal.any([signal, closing]),
        keepAliveMs,
        onError: (error) => logger.error({ requestId, traceId: row.traceId, err: error }, 'A stream of events ended'),
      });
      return { headers: HEADERS, stream };
    },
  });
}

function tracePlace(store: TraceStore): EventsPlace {
  return {
    path: '/v1/traces/:trace_id/events',
    find: (params, account) => findRow(store, params.trace_id, account),
  };
}

function endedStream(): TextStream {
  const text = new TextStream();
  text.end();
  return text;
}
