import type { Logger } from 'pino';
import type { Accounts } from '../accounts/accounts.ts';
import { ApiError } from '../contract/errors.ts';
import { accountOf } from '../http/api-keys.ts';
import { defineRoute, type Route, type RouteRequest } from '../http/route.ts';
import { TextStream } from '../http/text-stream.ts';
import { type DeltaSource, type FeedSource, startEventFeed } from './event-feed.ts';
import { parseLastEventId } from './last-event-id.ts';
import type { TraceAccess } from './traces-route.ts';

export interface StreamRouteOptions {
  readonly accounts: Pick<Accounts, 'isKeyInForce'>;
  readonly logger: Logger;
  /** Aborted when the service shuts down. */
  readonly closing: AbortSignal;
  /** For tests. */
  readonly keepAliveMs?: number | undefined;
}

/** One address that streams events. */
export interface EventStream {
  readonly path: string;
  readonly summary: string;
  readonly access: TraceAccess;
  /** When it answers 204. */
  readonly over: string;
  readonly errors: readonly ('trace_not_found' | 'job_not_found')[];
  /** @throws ApiError for what this account does not have. */
  open(params: RouteRequest['params'], account: string): Promise<OpenedStream>;
}

export interface OpenedStream {
  readonly source: FeedSource;
  readonly deltas?: DeltaSource | undefined;
  /** Named in the log where the stream breaks. */
  readonly label: Readonly<Record<string, string>>;
}

const KEEP_ALIVE_MS = 10_000;

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;

/**
 * A route that sends events as server-sent events, those that are stored and those that come, until the last one or until
 * the key is revoked. A reader that has the last one already gets 204, so that an `EventSource` stops to reconnect.
 */
export function defineEventStream(stream: EventStream, options: StreamRouteOptions): Route {
  const { accounts, logger, closing, keepAliveMs = KEEP_ALIVE_MS } = options;
  return defineRoute({
    method: 'GET',
    path: stream.path,
    summary: stream.summary,
    access: stream.access,
    about: {
      requestHeaders: { 'Last-Event-ID': 'The `id` of the last event that was received: what follows it is sent' },
      contentType: 'text/event-stream',
      statuses: { 200: 'The events', 204: stream.over },
      errors: stream.errors,
    },
    async handle({ requestId, method, params, headers, caller, signal }) {
      const { source, deltas, label } = await stream.open(params, accountOf(caller));
      const after = parseLastEventId(headers['last-event-id']);
      if (after > 0 && (await source.isOver(after))) return { status: 204 };
      if (method === 'HEAD') return { headers: HEADERS, stream: endedStream() };
      const text = startEventFeed({
        ...{ source, deltas, after, keepAliveMs },
        isPermitted: async () => !caller?.keyId || (await accounts.isKeyInForce(caller.keyId)),
        signal: AbortSignal.any([signal, closing]),
        onError: (error) => {
          // Otherwise what they are of was deleted.
          if (!(error instanceof ApiError))
            logger.error({ requestId, ...label, err: error }, 'A stream of events ended');
        },
      });
      return { headers: HEADERS, stream: text };
    },
  });
}

function endedStream(): TextStream {
  const text = new TextStream();
  text.end();
  return text;
}
