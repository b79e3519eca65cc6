import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { ApiError } from '../contract/errors.ts';
import type { RouteReply } from './route.ts';

/** Checks Host and Origin of a request, so that a foreign page (DNS rebinding, cross-site requests) reaches nothing. */
export interface OriginGuard {
  /** @throws ApiError forbidden_origin */
  check(headers: IncomingHttpHeaders): void;
}

/**
 * Allows the loopback names `localhost`, `127.0.0.0/8` and `[::1]` with any port, and `allowedHosts` (`name`: with any
 * port, `name:port`: with that one alone).
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
 * Reads `PROCTOR_ALLOWED_HOSTS`: names, or names with a port, separated by commas.
 *
 * @throws Error for an entry that is neither.
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
 * Contract section 0: binding elsewhere than loopback needs a key.
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
  /** Empty where none is named. */
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
  'x-request-id, retry-after, x-should-retry, preference-applied, x-svc-session-id, x-svc-trace-id, mcp-session-id';

/** A page of an allowed origin may read replies; it never sends cookies along (no credentials). */
export function allowReading({ headers }: IncomingMessage, response: ServerResponse): void {
  response.setHeader('vary', 'Origin');
  if (headers.origin === undefined) return;
  response.setHeader('access-control-allow-origin', headers.origin);
  response.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
}

/** Answers a preflight. `methods` are those of the path, joined by commas. */
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

/** The headers that routes take. */
export function allowedHeaders(request: IncomingMessage): readonly string[] {
  return [...ALLOWED_HEADERS, ...requestedHeaders(request).filter((name) => CLIENT_HEADER.test(name))];
}
