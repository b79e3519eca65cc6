import { ApiError } from '../../contract/errors.ts';
import type { Route } from '../../support/http/api/route.ts';
import { createEventsRoute, type EventsRouteOptions } from '../traces/events-route.ts';
import type { SessionRegistry } from './session-registry.ts';

/**
 * `GET /data/sessions/{session_id}/events`, for the playground: streams the events of a session's trace. The owner of
 * the session may read them, although another account owns the trace.
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
