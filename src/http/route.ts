import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';

/**
 * One route of an HTTP server, described once: the app dispatches, guards, validates and documents by it.
 * Handlers get parsed input and give a body; errors are thrown as `ApiError`.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Express path, `/v1/traces/:trace_id`. */
  readonly path: string;
  readonly summary: string;
  /**
   * Who may ask: `public` nobody is asked for anything; `loopback` no key on a loopback bind; `key` an API key;
   * `key-or-browser` an API key or the cookie of a signed-in browser; `page` the route does its own sign-in.
   */
  readonly access: 'public' | 'loopback' | 'key' | 'key-or-browser' | 'page';
  readonly request?: z.ZodType;
  /** What the body is declared as; `form` is a browser's form (`application/x-www-form-urlencoded`). Default `json`. */
  readonly bodyType?: 'json' | 'form';
  readonly response?: z.ZodType;
  handle(request: RouteRequest): Promise<RouteReply> | RouteReply;
}

export interface RouteRequest {
  readonly requestId: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** The parsed body where the route has a request schema. */
  readonly body: unknown;
  /** Undefined on a public route. */
  readonly caller: Caller | undefined;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
}

/** Who asks. */
export interface Caller {
  readonly account: string;
  readonly keyId: string | null;
  /** Null: no limit. */
  readonly requestsPerMinute: number | null;
}

export interface RouteReply {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON; a string or bytes with the content type of `headers`; undefined: no body. */
  readonly body?: unknown;
}
