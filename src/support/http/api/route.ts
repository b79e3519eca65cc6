import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import type { ApiError, ReplyErrorCode } from '../../../contract/errors.ts';
import type { TextStream } from '../text-stream.ts';

/**
 * One route of an HTTP server. The app uses this single description to dispatch, guard, validate and document it.
 * Handlers get parsed input and return a body; they throw `ApiError` for errors.
 */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Express path such as `/v1/traces/:trace_id`. `*name` at the end matches one or more parts. */
  readonly path: string;
  readonly summary: string;
  /**
   * Required access. `public`: none. `loopback`: no key on a loopback bind. `key`: an API key. `key-or-browser`: an API
   * key or a signed-in browser; on servers without keys the browser is checked first. `browser`: a signed-in browser
   * only, even on servers without keys, for the data of pages. `page`: the route does its own sign-in. Changes from a
   * browser need its CSRF token.
   */
  readonly access: 'public' | 'loopback' | 'key' | 'key-or-browser' | 'browser' | 'page';
  /** Schema of the body. If it accepts undefined, the body is optional. Routes with access `page` also accept forms. */
  readonly request?: z.ZodType;
  /** Body limit of a route that takes larger bodies, before and after decompression. Such a route also accepts gzip. */
  readonly largeBodyBytes?: number;
  /** Largest body in bytes of a route that takes a file of any type. The handler reads it as a stream. Default: JSON. */
  readonly fileBytes?: number;
  /** Schema of the query. Values of number and boolean fields are parsed from text first. */
  readonly query?: z.ZodObject;
  readonly response?: z.ZodType;
  /** Set for a route that speaks another protocol. Default: Proctor's own. */
  readonly protocol?: RouteProtocol;
  /** Further documentation. Facts that all routes share are left out. */
  readonly about?: RouteDescription;
  handle(request: RouteRequest): Promise<RouteReply> | RouteReply;
}

/** The key header and the error form of a foreign protocol. */
export interface RouteProtocol {
  /** Header, in lower case, that holds the bare key in place of `Authorization`. */
  readonly keyHeader?: string;
  /** Name of a query value that may also hold the key. */
  readonly keyQuery?: string;
  readonly toErrorReply: (error: ApiError) => { readonly status: number; readonly body: object };
}

/** Reply header with the trace of a run or session. */
export const TRACE_ID_HEADER = 'x-svc-trace-id';

/**
 * Reply header of an exported trace: the fields that its format cannot hold, as `<field>=<count>`, separated by commas.
 */
export const LOST_HEADER = 'x-proctor-lost';

/** Path of the page that browsers get for an unknown path. Other clients get the JSON error. */
export const UNKNOWN_PATH = '*';

/** Documentation for `/openapi.json` that schemas cannot express. Headers are listed by name, with their purpose. */
export interface RouteDescription {
  readonly requestHeaders?: Readonly<Record<string, string>>;
  readonly replyHeaders?: Readonly<Record<string, string>>;
  /** Prefixes of query names, with their purpose. */
  readonly queryPrefixes?: Readonly<Record<string, string>>;
  /** Content type of a reply that is not JSON. */
  readonly contentType?: string;
  /** Success statuses with their meaning. Default 200. */
  readonly statuses?: Readonly<Record<number, string>>;
  readonly errors?: readonly ReplyErrorCode[];
}

export interface RouteRequest<Body = unknown, Query = unknown> {
  readonly requestId: string;
  /** A `HEAD` request is handled by the `GET` route, and its reply is sent without a body. */
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parsed query when the route has a query schema. */
  readonly queryValues: Query;
  readonly headers: IncomingHttpHeaders;
  /** The parsed body when the route has a request schema. */
  readonly body: Body;
  /** The body before its schema removed unknown fields. */
  readonly json: unknown;
  /** The body where the route takes a file. @throws ApiError request_too_large, while it is read. */
  readonly file?: AsyncIterable<Uint8Array> | undefined;
  /** Undefined on a public route. */
  readonly caller: Caller | undefined;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
}

/** The caller of a request. */
export interface Caller {
  readonly account: string;
  readonly keyId: string | null;
  /** Null means no limit. */
  readonly requestsPerMinute: number | null;
}

export interface RouteReply {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON; a string or bytes with the content type in `headers`; undefined sends no body. */
  readonly body?: unknown;
  /** Text that is streamed in place of a body. The reply ends with the stream. */
  readonly stream?: TextStream;
}

/**
 * A path at which the server speaks another protocol. Mounts are matched before the router, and the app only adds the
 * checks that all requests need, so that tool calls stay fast.
 */
export interface Mount {
  readonly path: string;
  /** True when the mount also answers at another path. Called for each request that matches no mount's path. */
  claims?(request: IncomingMessage, path: string): boolean;
  /** Methods, for preflights of browsers. */
  readonly methods: readonly string[];
  /**
   * True when requests carry the mount's own secrets in place of API keys: as a bearer token, or as `/r/<secret>`
   * before the path, which the app turns into a bearer token. The mount checks them itself. Default false.
   */
  readonly hasOwnSecrets?: boolean;
  /** OpenAPI operations by lower-case method. */
  readonly operations?: Readonly<Record<string, object>>;
  /** OpenAPI operations of further paths. */
  readonly furtherOperations?: Readonly<Record<string, Readonly<Record<string, object>>>>;
  /** Answers a request of any method. */
  handle(request: IncomingMessage, response: ServerResponse, caller: Caller | undefined): Promise<void>;
  /** Answers an error of the earlier checks or of `handle`. Default: the error form of the routes. */
  refuse?(request: IncomingMessage, response: ServerResponse, thrown: unknown): void;
}

/** Defines a route whose handler gets body and query with the types of their schemas. */
export function defineRoute<Body extends z.ZodType = z.ZodUnknown, Query extends z.ZodObject = z.ZodObject>(
  route: Omit<Route, 'request' | 'query' | 'handle'> & {
    readonly request?: Body;
    readonly query?: Query;
    handle(request: RouteRequest<z.output<Body>, z.output<Query>>): Promise<RouteReply> | RouteReply;
  },
): Route {
  return route as Route; // The app parses `body` and `queryValues` with these schemas before it calls `handle`.
}
