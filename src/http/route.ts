import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { ErrorCode } from '../contract/errors.ts';
import type { TextStream } from './text-stream.ts';

/**
 * One route of an HTTP server, described once: the app dispatches, guards, validates and documents by it.
 * Handlers get parsed input and give a body; errors are thrown as `ApiError`.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Express path, `/v1/traces/:trace_id`. */
  readonly path: string;
  readonly summary: string;
  /**
   * Required access: `public` nothing is asked for; `loopback` no key on a loopback bind; `key` an API key;
   * `key-or-browser` an API key or a signed-in browser, which is asked for first on servers without keys; `browser` a signed-in browser alone, on servers without keys too: the
   * data of pages; `page` the route does its own sign-in. What changes something carries the browser's CSRF token.
   */
  readonly access: 'public' | 'loopback' | 'key' | 'key-or-browser' | 'browser' | 'page';
  /** A schema that accepts undefined makes the body optional. Forms are accepted where the access is `page`. */
  readonly request?: z.ZodType;
  /** Where bodies may be larger than those of other routes: its limit, before and after gzip, which it accepts too. */
  readonly largeBodyBytes?: number;
  /** Query values by name; those of a number's or boolean's type are read from their text first. */
  readonly query?: z.ZodObject;
  readonly response?: z.ZodType;
  /** Further description; everything that all routes share is left out. */
  readonly about?: RouteDescription;
  handle(request: RouteRequest): Promise<RouteReply> | RouteReply;
}

/** The header of replies that are about a run or a session: its trace. */
export const TRACE_ID_HEADER = 'x-svc-trace-id';

/** Path of the route that browsers get where there is none. All others get the JSON error. */
export const UNKNOWN_PATH = '*';

/** For `/openapi.json`, where schemas do not say it. Headers are by name, with what they do. */
export interface RouteDescription {
  readonly requestHeaders?: Readonly<Record<string, string>>;
  readonly replyHeaders?: Readonly<Record<string, string>>;
  /** Query values whose names begin so, with what they do. */
  readonly queryPrefixes?: Readonly<Record<string, string>>;
  /** Content type of a reply that is not JSON. */
  readonly contentType?: string;
  /** Statuses of success with their meaning. Default 200. */
  readonly statuses?: Readonly<Record<number, string>>;
  readonly errors?: readonly ErrorCode[];
}

export interface RouteRequest<Body = unknown, Query = unknown> {
  readonly requestId: string;
  /** `HEAD` comes to the route of `GET`: its reply is sent without a body. */
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parsed query where the route has a query schema. */
  readonly queryValues: Query;
  readonly headers: IncomingHttpHeaders;
  /** The parsed body where the route has a request schema. */
  readonly body: Body;
  /** The body as it came, before its schema left out what it does not know. */
  readonly json: unknown;
  /** Undefined on a public route. */
  readonly caller: Caller | undefined;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
}

/** The caller of a request. */
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
  /** In place of a body: text that is sent as it comes. Its end is the reply's. */
  readonly stream?: TextStream;
}

/**
 * A path at which another protocol is spoken, over the same server. It is found before the router is asked, and the app
 * adds nothing to its requests but the checks that all have: a tool call costs little else.
 */
export interface Mount {
  readonly path: string;
  /** Whether it answers at another path too. Asked for each request that no path of a mount fits. */
  claims?(request: IncomingMessage, path: string): boolean;
  /** For preflights of browsers. */
  readonly methods: readonly string[];
  /**
   * True where its requests show secrets of its own in place of API keys: as a bearer token, or as `/r/<secret>` before
   * the path, which it gets as a bearer token too. It checks them itself. Default false.
   */
  readonly hasOwnSecrets?: boolean;
  /** Its operations by method in lower case, for `/openapi.json`. */
  readonly operations?: Readonly<Record<string, object>>;
  /** Those at further paths. */
  readonly furtherOperations?: Readonly<Record<string, Readonly<Record<string, object>>>>;
  /** Answers by itself, whatever the method is. */
  handle(request: IncomingMessage, response: ServerResponse, caller: Caller | undefined): Promise<void>;
  /** Answers what the checks before it, or the handler, have thrown. Default: in the form of the routes. */
  refuse?(request: IncomingMessage, response: ServerResponse, thrown: unknown): void;
}

/** A route whose handler gets its body and its query with the types of their schemas. */
export function defineRoute<Body extends z.ZodType = z.ZodUnknown, Query extends z.ZodObject = z.ZodObject>(
  route: Omit<Route, 'request' | 'query' | 'handle'> & {
    readonly request?: Body;
    readonly query?: Query;
    handle(request: RouteRequest<z.output<Body>, z.output<Query>>): Promise<RouteReply> | RouteReply;
  },
): Route {
  return route as Route; // The app has parsed `body` and `queryValues` by these very schemas before it calls `handle`.
}
