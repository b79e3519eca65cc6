import type { Logger } from 'pino';
import { z } from 'zod';
import { ApiError } from '../../contract/errors.ts';
import type { Accounts } from '../../store/accounts/accounts.ts';
import { accountOf } from '../../support/http/api/api-keys.ts';
import { defineRoute, type Route, type RouteRequest } from '../../support/http/api/route.ts';
import { TextStream } from '../../support/http/text-stream.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { type DeltaSource, type FeedSource, startEventFeed } from './event-feed.ts';
import { parseLastEventId } from './last-event-id.ts';
import type { TraceAccess } from './traces-route.ts';

export interface StreamRouteOptions {
  readonly accounts: Pick<Accounts, 'isKeyInForce'>;
  readonly logger: Logger;
  /** Aborted when the service shuts down. */
  readonly closing: AbortSignal;
  /** For tests: milliseconds between two comments. */
  readonly keepAliveMs?: number | undefined;
}

/** A route that streams events. */
export interface EventStream {
  readonly path: string;
  readonly summary: string;
  readonly access: TraceAccess;
  /** Condition for a reply 204, for the API description. */
  readonly over: string;
  readonly errors: readonly ('trace_not_found' | 'job_not_found')[];
  /** @throws ApiError if the account does not have the source. */
  open(params: RouteRequest['params'], account: string): Promise<OpenedStream>;
}

export interface OpenedStream {
  readonly source: FeedSource;
  readonly deltas?: DeltaSource | undefined;
  /** Fields for the log entry of a broken stream. */
  readonly label: Readonly<Record<string, string>>;
}

const querySchema = z.object({
  follow: z.boolean().default(true).meta({ description: 'false: those that are stored, and no later ones' }),
});

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;

/**
 * Defines a route that streams stored and new events until the last one, or until the key is revoked. A reader that
 * already has the last event gets 204, which stops an `EventSource` from reconnecting.
 */
export function defineEventStream(stream: EventStream, options: StreamRouteOptions): Route {
  const { accounts, logger, closing, keepAliveMs = PERIODS_MS.keepAlive } = options;
  return defineRoute({
    method: 'GET',
    path: stream.path,
    summary: stream.summary,
    access: stream.access,
    query: querySchema,
    about: {
      requestHeaders: { 'Last-Event-ID': 'The `id` of the last event that was received: what follows it is sent' },
      contentType: 'text/event-stream',
      statuses: { 200: 'The events', 204: stream.over },
      errors: stream.errors,
    },
    async handle({ requestId, method, params, queryValues, headers, caller, signal }) {
      const { source, deltas, label } = await stream.open(params, accountOf(caller));
      const after = parseLastEventId(headers['last-event-id']);
      if (after > 0 && (await source.isOver(after))) return { status: 204 };
      if (method === 'HEAD') return { headers: HEADERS, stream: endedStream() };
      const text = startEventFeed({
        source: queryValues.follow ? source : { ...source, isOver: async () => true },
        deltas,
        after,
        keepAliveMs,
        isPermitted: async () => !caller?.keyId || (await accounts.isKeyInForce(caller.keyId)),
        signal: AbortSignal.any([signal, closing]),
        onError: (error) => {
          // An `ApiError` means that the source was deleted.
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
