import { Connection, type Fetch } from '../../client/connection.ts';
import { createServiceClient, type ServiceClient } from '../../client/service-client.ts';
import { readEventsAt, readTraceEvents } from '../../client/trace-events.ts';
import type { ModelDeltaEvent, TraceEvent } from '../../contract/service/event.ts';
import type { TraceData } from '../trace-data.ts';
import { pageSettings } from './page-settings.ts';

/** Adds the token of the page to requests that change something. The browser sends the cookie by itself. */
export const fetchAsPage: Fetch = async (url, init) => {
  const headers = new Headers(init.headers);
  if (init.method !== 'GET') headers.set('x-csrf-token', pageSettings.csrfToken);
  const response = await fetch(url, { ...init, headers, credentials: 'same-origin' });
  if (response.status === 401) for (const listener of signedOutListeners) listener();
  return response;
};

const options = { baseUrl: location.origin, fetch: fetchAsPage };
/** Connection for routes without a client method. */
export const connection = new Connection(options);

/** Client of the server that sent this page. Methods reject with an `ApiError`. */
export const service: ServiceClient = createServiceClient(options);

/** Reads the events of a trace after a sequence number. @throws ApiError; the reason of the signal. */
export function readTraceData(traceId: string, after: number, signal: AbortSignal): Promise<TraceData> {
  return connection.json({ method: 'GET', path: `/data/traces/${traceId}?after=${after}`, isRepeatable: true, signal });
}

/**
 * Yields the stored and new events of a trace after a sequence number, until its run has ended. A lost connection is
 * reopened at the same position; `onAway` is called when it is lost and when it is back.
 *
 * @throws ApiError after half a minute without a connection; the reason of the signal.
 */
export function followTrace(
  traceId: string,
  options: FollowOptions,
): AsyncGenerator<TraceEvent | ModelDeltaEvent, void> {
  return readTraceEvents(telling(options), traceId, options);
}

/** Yields the events of a playground session, by its id. */
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

/** Creates a connection that reports whether the server answers. */
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

/** Calls back when the server no longer accepts the browser's sign-in. Returns a function that unsubscribes. */
export function onSignedOut(listener: () => void): () => void {
  signedOutListeners.add(listener);
  return () => signedOutListeners.delete(listener);
}
