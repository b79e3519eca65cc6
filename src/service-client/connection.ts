import { type Backoff, backoffMs, sleep } from '../runtime/backoff.ts';
import { ApiError, toApiError } from './api-error.ts';

/** As much of `fetch` as is used here. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface ServiceClientOptions {
  /** The address of the service. Default: in a browser where its page came from; in Node.js `PROCTOR_APP_URL`, else `http://127.0.0.1:8320`. */
  readonly baseUrl?: string;
  /**
   * Left out where the browser has signed in. Default in Node.js: `PROCTOR_API_KEY`, else, of a service on this machine,
   * the key that its first start has kept in this directory.
   */
  readonly apiKey?: string;
  /** Default: the one of the platform. */
  readonly fetch?: Fetch;
  /** Retries of requests that can be sent again without harm. Default 2. */
  readonly maxRetries?: number;
  /** Limit of a request beside the time that the service is asked to wait, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
}

export interface ServiceRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** True where it can be sent again: it changes nothing, or has an `Idempotency-Key`. */
  readonly isRepeatable: boolean;
  /** Seconds that the service is asked to wait before it answers. */
  readonly waitSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const BACKOFF: Backoff = { firstMs: 250, longestMs: 8_000 };
/** A service that asks for more is not waited for: its caller knows better what to do meanwhile. */
const LONGEST_DELAY_MS = 20_000;

/** In a row, of what goes on over restarts of the service: about half a minute. */
export const MAX_FAILURES = 8;

/** Sends requests to one service. */
export class Connection {
  readonly #baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: Fetch;
  readonly #maxRetries: number;
  readonly #timeoutMs: number;

  /** @throws TypeError for a base URL that is none. */
  constructor({ baseUrl, apiKey, fetch: given, maxRetries = 2, timeoutMs = 60_000 }: ServiceClientOptions) {
    this.#baseUrl = new URL(baseUrl ?? pageOrigin()).href.replace(/\/+$/, '');
    this.#headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    // A browser's fetch wants to be called as a function of its window.
    this.#fetch = given ?? ((url, init) => fetch(url, init));
    this.#maxRetries = maxRetries;
    this.#timeoutMs = timeoutMs;
  }

  /** The body of the reply as JSON; undefined for one without. @throws ApiError; the reason of the signal. */
  async json<T>(request: ServiceRequest): Promise<T> {
    return await this.#send(request, async (response) => {
      const text = await response.text();
      return (text === '' ? undefined : JSON.parse(text)) as T; // The contract says what a route answers.
    });
  }

  async bytes(request: ServiceRequest): Promise<{ readonly bytes: Uint8Array; readonly mimeType: string }> {
    return await this.#send(request, async (response) => ({
      bytes: new Uint8Array(await response.arrayBuffer()),
      mimeType: response.headers.get('content-type') ?? 'application/octet-stream',
    }));
  }

  /** A reply that is read as it comes; it ends when the signal is aborted. One attempt. @throws ApiError */
  async open(request: Omit<ServiceRequest, 'isRepeatable' | 'waitSeconds'>): Promise<Response> {
    const response = await this.#fetchOnce(request, request.signal);
    if (!response.ok) throw await toApiError(response);
    return response;
  }

  async #send<T>(request: ServiceRequest, read: (response: Response) => Promise<T>): Promise<T> {
    const retries = request.isRepeatable ? this.#maxRetries : 0;
    for (let retry = 0; ; retry++) {
      try {
        return await this.#attempt(request, read);
      } catch (error) {
        request.signal?.throwIfAborted();
        const delayMs = error instanceof ApiError && retry < retries ? retryDelayMs(error, retry) : undefined;
        if (delayMs === undefined) throw error;
        await sleep(delayMs, request.signal);
      }
    }
  }

  async #attempt<T>(request: ServiceRequest, read: (response: Response) => Promise<T>): Promise<T> {
    const limit = AbortSignal.timeout(this.#timeoutMs + (request.waitSeconds ?? 0) * 1_000);
    const signal = request.signal === undefined ? limit : AbortSignal.any([request.signal, limit]);
    const response = await this.#fetchOnce(request, signal);
    if (!response.ok) throw await toApiError(response);
    try {
      return await read(response);
    } catch (cause) {
      throw connectionFailed(`The reply to ${request.method} ${request.path} was cut off`, cause);
    }
  }

  async #fetchOnce(
    { method, path, headers, body, signal: given }: Omit<ServiceRequest, 'isRepeatable'>,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const hasBody = body !== undefined;
    try {
      return await this.#fetch(`${this.#baseUrl}${path}`, {
        method,
        headers: { ...this.#headers, ...(hasBody ? { 'content-type': 'application/json' } : {}), ...headers },
        ...(hasBody ? { body: JSON.stringify(body) } : {}),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (cause) {
      given?.throwIfAborted();
      throw connectionFailed(
        `The service at ${this.#baseUrl} does not answer. Is it started, and is the address right?`,
        cause,
      );
    }
  }
}

/** @throws TypeError where there is no page. */
function pageOrigin(): string {
  if (globalThis.location === undefined) throw new TypeError('The client needs the baseUrl of the service.');
  return globalThis.location.origin;
}

/** True where the service is not there, or not itself: it may be back in a moment. */
export function isAway(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 500);
}

/** Waits before the next try, after so many in vain. @throws the reason of the signal. */
export async function waitToRetry(failures: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(backoffMs(failures, BACKOFF), signal);
}

/** Undefined where there is no use in trying again. */
function retryDelayMs({ status, code, retryAfterSeconds }: ApiError, retry: number): number | undefined {
  // The first try is still being answered, although its reply was lost: the next one gets its answer.
  const isRetried = status === 0 || RETRIED_STATUSES.has(status) || code === 'request_in_progress';
  if (!isRetried) return undefined;
  const delayMs = retryAfterSeconds === null ? backoffMs(retry, BACKOFF) : retryAfterSeconds * 1_000;
  return delayMs > LONGEST_DELAY_MS ? undefined : delayMs;
}

function connectionFailed(problem: string, cause: unknown): ApiError {
  // `fetch failed` of Node.js has its reason in the cause.
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const reason = inner instanceof Error ? inner.message : String(inner);
  return new ApiError(
    `${problem} (${reason})`,
    { status: 0, code: 'connection_failed', type: 'server_error' },
    { cause },
  );
}

/** 128 random bits, in browsers without a secure context too. */
export function createKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
