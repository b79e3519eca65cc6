import { isEnded } from '../../contract/service/ended.ts';
import type { TraceRow, TraceStore } from '../../store/traces/trace-store.ts';
import type { Route, RouteRequest } from '../../support/http/api/route.ts';
import type { DeltaSource, FeedSource } from './event-feed.ts';
import { defineEventStream, type StreamRouteOptions } from './event-stream-route.ts';
import type { LiveDeltas } from './live-deltas.ts';
import { findRow, type TraceAccess } from './traces-route.ts';

export interface EventsRouteOptions extends StreamRouteOptions {
  readonly store: TraceStore;
  readonly access: TraceAccess;
  /** Source of streamed model text. Undefined: events only. */
  readonly deltas?: LiveDeltas;
  /** Another path for the events. Default: `/v1/traces/{trace_id}/events`. */
  readonly place?: EventsPlace | undefined;
}

/** A path for events, and how it names the trace. */
export interface EventsPlace {
  readonly path: string;
  /** @throws ApiError if the account does not have the trace. */
  find(params: RouteRequest['params'], account: string): Promise<TraceRow>;
}

/** `GET /v1/traces/{trace_id}/events`: the events of a trace until `run.finished`. */
export function createEventsRoute(options: EventsRouteOptions): Route {
  const { store, access, deltas } = options;
  const { path, find } = options.place ?? tracePlace(store);
  return defineEventStream(
    {
      path,
      summary: 'The events of a trace as they come, as server-sent events, until run.finished',
      access,
      over: 'The run has ended, and Last-Event-ID is its last event',
      errors: ['trace_not_found'],
      async open(params, account) {
        const { traceId } = await find(params, account);
        return {
          source: eventsOf(store, traceId),
          deltas: deltas && deltasOf(deltas, traceId),
          label: { traceId },
        };
      },
    },
    options,
  );
}

/** The events of a trace as the source of a feed. */
export function eventsOf(store: Pick<TraceStore, 'events' | 'row' | 'subscribe'>, traceId: string): FeedSource {
  return {
    read: (after, limit) => store.events(traceId, { after, limit }),
    isLast: ({ type }) => type === 'run.finished',
    async isOver(after) {
      const row = await store.row(traceId);
      // The trace was deleted, or its last event is not after the reader's position.
      return row === undefined || (isEnded(row.status) && row.lastSeq <= after);
    },
    subscribe: (wake) => store.subscribe(traceId, wake),
  };
}

function deltasOf(deltas: LiveDeltas, traceId: string): DeltaSource {
  return {
    subscribe: (take) => deltas.subscribe(traceId, take),
    isHeldBy: ({ type }) => type === 'model.responded' || type === 'run.queued',
  };
}

function tracePlace(store: TraceStore): EventsPlace {
  return {
    path: '/v1/traces/:trace_id/events',
    find: (params, account) => findRow(store, params.trace_id, account),
  };
}
