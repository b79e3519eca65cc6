import { ApiError } from '../contract/errors.ts';
import type { Route } from '../http/route.ts';
import { createEventsRoute, type EventsRouteOptions } from '../trace-routes/events-route.ts';
import type { SessionRegistry } from './session-registry.ts';

/**
 * `GET /data/sessions/{session_id}/events`, for the playground: the events of a session's trace as they come. They belong
 * to whoever holds the session, although the trace belongs to another account.
 */
export function createSessionEventsRoute(
  registry: SessionRegistry,
  options: Omit<EventsRouteOptions, 'access' | 'deltas' | 'place'>,
): Route {
  return createEventsRoute({
    ...options,
    access: 'browser',
    deltas: registry.deltas,
    place: {
      path: '/data/sessions/:session_id/events',
      async find({ session_id = '' }, account) {
        const { traceId } = await registry.record(account, session_id);
        const row = await options.store.row(traceId);
        if (row !== undefined) return row;
        throw new ApiError('session_not_found', `The trace of session ${session_id} was deleted.`);
      },
    },
  });
}
