import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { ApiError } from '../../contract/errors.ts';
import type { RouteReply } from './api/route.ts';

/** Checks Host and Origin of a request, to stop foreign pages (DNS rebinding, cross-site requests). */
export interface OriginGuard {
  /** @throws ApiError forbidden_origin */
  check(headers: IncomingHttpHeaders): void;
}

/**
 * Allows the loopback names `localhost`, `127.0.0.0/8` and `[::1]` with any port, and `allowedHosts`: `name` with any
 * port, `name:port` with that port only.
 */
export function createOriginGuard(allowedHosts: readonly string[] = []): OriginGuard {
  const allowed = new Set(allowedHosts.map((host) => host.toLowerCase()));
  const isAllowed = (host: HostAndPort) =>
    isLoopbackHost(host.name) ||
    allowed.has(host.name) ||
    (host.port !== '' && allowed.has(`${host.name}:${host.port}`));
  return {
    check(headers) {
      const host = parseHost(headers.host ?? '');
      if (host === undefined || !isAllowed(host)) throw refused('Host', headers.host);
      if (headers.origin === undefined) return;
      const origin = parseOrigin(headers.origin);
      if (origin === undefined || !isAllowed(origin)) throw refused('Origin', headers.origin);
    },
  };
}

/**
 * Parses `PROCTOR_ALLOWED_HOSTS`: names with or without a port, separated by commas.
 *
 * @throws Error for an invalid entry.
 */
export function parseAllowedHosts(text: string | undefined): readonly string[] {
  const entries = (text ?? '').split(',').map((entry) => entry.trim());
  return entries
    .filter((entry) => entry !== '')
    .map((entry) => {
      if (parseHost(entry) === undefined) {
        throw new Error(
          `PROCTOR_ALLOWED_HOSTS: ${JSON.stringify(entry)} is not a host name. Give names such as ` +
            '"proctor.example.com" or "proctor.example.com:8320", separated by commas.',
        );
      }
      return entry.toLowerCase();
    });
}

/** True for addresses and names that other machines cannot reach. An IPv6 address may be in brackets. */
export function isLoopbackHost(name: string): boolean {
  const bare = name.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}

/**
 * Refuses to bind to a public address without a key (contract section 0).
 *
 * @throws Error that says what to set.
 */
export function assertBindAllowed(host: string, hasKey: boolean, remedy: string): void {
  if (isLoopbackHost(host) || hasKey) return;
  throw new Error(
    `Refusing to listen on ${JSON.stringify(host)}, where other machines can connect, without an API key: ` +
      `${remedy}, or listen on 127.0.0.1.`,
  );
}

interface HostAndPort {
  readonly name: string;
  /** Empty without a port. */
  readonly port: string;
}

function parseHost(text: string): HostAndPort | undefined {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i.exec(text);
  return match?.[1] === undefined ? undefined : { name: match[1].toLowerCase(), port: match[2] ?? '' };
}

function parseOrigin(text: string): HostAndPort | undefined {
  return /^https?:\/\//i.test(text) ? parseHost(text.replace(/^https?:\/\//i, '')) : undefined;
}

function refused(header: 'Host' | 'Origin', value: string | undefined): ApiError {
  const got = value === undefined ? 'none' : JSON.stringify(value.slice(0, 200));
  return new ApiError(
    'forbidden_origin',
    `The ${header} of this request is not allowed: ${got}. Allowed are localhost, 127.0.0.1, [::1], and the names in ` +
      'PROCTOR_ALLOWED_HOSTS of the server.',
  );
}

/** Request headers that routes read, and `user-agent`: browsers other than Chromium list it in preflights. */
const ALLOWED_HEADERS: readonly string[] = [
  'anthropic-beta',
  'anthropic-version',
  'authorization',
  'content-type',
  'idempotency-key',
  'last-event-id',
  'openai-organization',
  'openai-project',
  'prefer',
  'user-agent',
  'x-api-key',
  'x-goog-api-key',
  'x-svc-session-id',
];

/** Headers with which the `openai` client describes itself. Newer versions send more of them. */
const CLIENT_HEADER = /^x-stainless-[a-z0-9-]+$/;

const EXPOSED_HEADERS =
  'x-request-id, retry-after, x-should-retry, preference-applied, x-svc-session-id, x-svc-trace-id, mcp-session-id';

/** Lets a page of an allowed origin read the reply. It never allows cookies. */
export function allowReading({ headers }: IncomingMessage, response: ServerResponse): void {
  response.setHeader('vary', 'Origin');
  if (headers.origin === undefined) return;
  response.setHeader('access-control-allow-origin', headers.origin);
  response.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
}

/** The reply to a preflight. `methods` are those of the path, joined by commas. */
export function toPreflight(methods: string, headers: readonly string[]): RouteReply {
  return {
    status: 204,
    headers: {
      allow: methods,
      'access-control-allow-methods': methods,
      'access-control-allow-headers': headers.join(', '),
      'access-control-max-age': '600',
    },
  };
}

/** The headers that a preflight asks for. */
export function requestedHeaders({ headers }: IncomingMessage): readonly string[] {
  const requested = String(headers['access-control-request-headers'] ?? '').split(',');
  return requested.map((name) => name.trim().toLowerCase()).filter((name) => name !== '');
}

/** The headers that a preflight may allow. */
export function allowedHeaders(request: IncomingMessage): readonly string[] {
  return [...ALLOWED_HEADERS, ...requestedHeaders(request).filter((name) => CLIENT_HEADER.test(name))];
}
