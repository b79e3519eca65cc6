import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RouteReply } from './route.ts';

/** Headers that routes read, and `user-agent`, which browsers other than Chromium ask for when a client sets it. */
const ALLOWED_HEADERS: readonly string[] = [
  'authorization',
  'content-type',
  'idempotency-key',
  'last-event-id',
  'openai-organization',
  'openai-project',
  'prefer',
  'user-agent',
  'x-svc-session-id',
];

/** The `openai` client describes itself by headers with this prefix; their number grows with its versions. */
const CLIENT_HEADER = /^x-stainless-[a-z0-9-]+$/;

const EXPOSED_HEADERS =
  'x-request-id, retry-after, x-should-retry, preference-applied, x-svc-session-id, x-svc-trace-id';

/** A page of an allowed origin may read replies; it never sends cookies along (no credentials). */
export function allowReading(
  { headers }: IncomingMessage,
  response: ServerResponse & { vary(name: string): void },
): void {
  response.vary('Origin');
  if (headers.origin === undefined) return;
  response.setHeader('access-control-allow-origin', headers.origin);
  response.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
}

/** Answers a preflight. `methods` are those of the path, joined by commas; `headers` those that it takes. */
export function toPreflight(
  request: IncomingMessage,
  { methods, headers = ALLOWED_HEADERS }: { readonly methods: string; readonly headers?: readonly string[] },
): RouteReply {
  return {
    status: 204,
    headers: {
      allow: methods,
      'access-control-allow-methods': methods,
      'access-control-allow-headers': [...headers, ...clientHeadersOf(request)].join(', '),
      'access-control-max-age': '600',
    },
  };
}

function clientHeadersOf({ headers }: IncomingMessage): readonly string[] {
  const requested = String(headers['access-control-request-headers'] ?? '').split(',');
  return requested.map((name) => name.trim().toLowerCase()).filter((name) => CLIENT_HEADER.test(name));
}
