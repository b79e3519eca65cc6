import type { ModelDeltaEvent, TraceEvent } from '../../contract/event.ts';
import { Connection, type Fetch } from '../../service-client/connection.ts';
import { createServiceClient, type ServiceClient } from '../../service-client/service-client.ts';
import { readEventsAt, readTraceEvents } from '../../service-client/trace-events.ts';
import type { TraceData } from '../trace-data.ts';
import { pageSettings } from './page-settings.ts';

/** The cookie is sent along by itself; what changes something carries the token of the page. */
export const fetchAsPage: Fetch = async (url, init) => {
  const headers = new Headers(init.headers);
  if (init.method !== 'GET') headers.set('x-csrf-token', pageSettings.csrfToken);
  const response = await fetch(url, { ...init, headers, credentials: 'same-origin' });
  if (response.status === 401) for (const listener of signedOutListeners) listener();
  return response;
};

const options = { baseUrl: location.origin, fetch: fetchAsPage };
/** For routes that have no method of their own below. */
export const connection = new Connection(options);

/** Every route of the server that the page came from. Methods reject with an `ApiError`. */
export const service: ServiceClient = createServiceClient(options);

/** Events of a trace after a number. @throws ApiError; the reason of the signal. */
export function readTraceData(traceId: string, after: number, signal: AbortSignal): Promise<TraceData> {
  return connection.json({ method: 'GET', path: `/data/traces/${traceId}?after=${after}`, isRepeatable: true, signal });
}

/**
 * The events of a trace after a number, those that are stored and those that come, until its run has ended. A connection
 * that is lost is opened again where it was; `onAway` is told when there is none, and when there is one again.
 *
 * @throws ApiError when there was none for half a minute; the reason of the signal.
 */
export function followTrace(
  traceId: string,
  options: FollowOptions,
): AsyncGenerator<TraceEvent | ModelDeltaEvent, void> {
  return readTraceEvents(telling(options), traceId, options);
}

/** The same of a session of the playground, by its id. */
export function followSession(
  sessionId: string,
  options: FollowOptions,
): AsyncGenerator<TraceEvent | ModelDeltaEvent, void> {
  return readEventsAt(telling(options), `/data/sessions/${encodeURIComponent(sessionId)}/events`, options);
}

export interface FollowOptions {
  readonly after: number;
  readonly signal: AbortSignal;
  onAway(isAway: boolean): void;
}

/** A connection that tells whether the server answers. */
function telling({ signal, onAway }: FollowOptions): Connection {
  const fetchAndTell: Fetch = async (url, init) => {
    try {
      const response = await fetchAsPage(url, init);
      onAway(response.status >= 500);
      return response;
    } catch (error) {
      if (!signal.aborted) onAway(true);
      throw error;
    }
  };
  return new Connection({ ...options, fetch: fetchAndTell });
}

const signedOutListeners = new Set<() => void>();

/** Calls back when the server does not know this browser any more. Returns the way to stop. */
export function onSignedOut(listener: () => void): () => void {
  signedOutListeners.add(listener);
  return () => signedOutListeners.delete(listener);
}
