import { ApiError } from '../contract/errors.ts';
import { type Backoff, backoffMs, sleep } from '../support/runtime/backoff.ts';
import { toApiError } from './read-error.ts';

/** The used part of `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface ServiceClientOptions {
  /**
   * Address of the service. Default in a browser: the origin of the page; in Node.js: `PROCTOR_APP_URL`, else
   * `http://127.0.0.1:8320`.
   */
  readonly baseUrl?: string;
  /**
   * API key; a browser that has signed in needs none. Default in Node.js: `PROCTOR_API_KEY`, or for a service on this
   * machine the key that its first start stored in this directory.
   */
  readonly apiKey?: string;
  /** Replacement for the platform's `fetch`. */
  readonly fetch?: Fetch;
  /** Most retries of a request that is safe to repeat. Default 2. */
  readonly maxRetries?: number;
  /**
   * Aborted when the service is gone for good: every request rejects with its reason, without a retry. Default:
   * never.
   */
  readonly closed?: AbortSignal;
  /** Limit of a request in milliseconds, in addition to the wait that it asks for. Default 60,000. */
  readonly timeoutMs?: number;
}

export interface ServiceRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path with query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** File to send instead of a JSON body. */
  readonly file?: BodyInit;
  /** True if the request is safe to repeat: it changes nothing, or has an `Idempotency-Key`. */
  readonly isRepeatable: boolean;
  /** Seconds that the service may wait before it answers. */
  readonly waitSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const RETRIED_STATUSES: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504]);
const BACKOFF: Backoff = { firstMs: 250, longestMs: 8_000 };
/** Longest delay in milliseconds before a retry. If the service asks for more, the request fails. */
const LONGEST_DELAY_MS = 20_000;

/** Most consecutive failures of a stream that survives restarts of the service: about half a minute. */
export const MAX_FAILURES = 8;

/** Sends requests to one service. */
export class Connection {
  readonly #baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: Fetch;
  readonly #maxRetries: number;
  readonly #timeoutMs: number;
  readonly #closed: AbortSignal | undefined;

  /** @throws TypeError for an invalid base URL. */
  constructor({ baseUrl, apiKey, fetch: given, maxRetries = 2, timeoutMs = 60_000, closed }: ServiceClientOptions) {
    this.#baseUrl = new URL(baseUrl ?? pageOrigin()).href.replace(/\/+$/, '');
    this.#headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    // A browser's `fetch` must be called as a function of its window.
    this.#fetch = given ?? ((url, init) => fetch(url, init));
    this.#maxRetries = maxRetries;
    this.#timeoutMs = timeoutMs;
    this.#closed = closed;
  }

  /**
   * Sends a request and parses the reply as JSON; undefined without a body. @throws ApiError; the reason of the
   * signal.
   */
  async json<T>(request: ServiceRequest): Promise<T> {
    return await this.#send(request, async (response) => {
      const text = await response.text();
      return (text === '' ? undefined : JSON.parse(text)) as T; // The contract defines the reply of each route.
    });
  }

  async bytes(request: ServiceRequest): Promise<{ readonly bytes: Uint8Array; readonly mimeType: string }> {
    return await this.#send(request, async (response) => ({
      bytes: new Uint8Array(await response.arrayBuffer()),
      mimeType: response.headers.get('content-type') ?? 'application/octet-stream',
    }));
  }

  /** Opens a reply that is read as a stream, without retries. It ends when the signal is aborted. @throws ApiError */
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
    { method, path, headers, body, file, signal: given }: Omit<ServiceRequest, 'isRepeatable'>,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const hasBody = body !== undefined;
    this.#closed?.throwIfAborted();
    const ends = [signal, this.#closed].filter((each) => each !== undefined);
    try {
      return await this.#fetch(`${this.#baseUrl}${path}`, {
        method,
        headers: { ...this.#headers, ...typeOf(hasBody, file), ...headers },
        ...(hasBody ? { body: JSON.stringify(body) } : {}),
        ...(file === undefined ? {} : { body: file, duplex: 'half' }),
        ...(ends.length === 0 ? {} : { signal: AbortSignal.any(ends) }),
      });
    } catch (cause) {
      given?.throwIfAborted();
      this.#closed?.throwIfAborted();
      throw connectionFailed(
        `The service at ${this.#baseUrl} does not answer. Is it started, and is the address right?`,
        cause,
      );
    }
  }
}

function typeOf(hasJson: boolean, file: BodyInit | undefined): Readonly<Record<string, string>> {
  if (file !== undefined) return { 'content-type': 'application/octet-stream' };
  return hasJson ? { 'content-type': 'application/json' } : {};
}

/** @throws TypeError outside of a browser page. */
function pageOrigin(): string {
  if (globalThis.location === undefined) throw new TypeError('The client needs the baseUrl of the service.');
  return globalThis.location.origin;
}

/** True if the service cannot be reached or fails, which may be temporary. */
export function isAway(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 0 || error.status >= 500);
}

/** Waits before the next try; the delay grows with the number of failures. @throws the reason of the signal. */
export async function waitToRetry(failures: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(backoffMs(failures, BACKOFF), signal);
}

/** Milliseconds before the next try; undefined if the request should not be repeated. */
function retryDelayMs({ status, code, retryAfterSeconds }: ApiError, retry: number): number | undefined {
  // The first request is still running although its reply was lost. The retry gets its answer.
  const isRetried = status === 0 || RETRIED_STATUSES.has(status) || code === 'request_in_progress';
  if (!isRetried) return undefined;
  const delayMs = retryAfterSeconds === null ? backoffMs(retry, BACKOFF) : retryAfterSeconds * 1_000;
  return delayMs > LONGEST_DELAY_MS ? undefined : delayMs;
}

function connectionFailed(problem: string, cause: unknown): ApiError {
  // In Node.js the cause of `fetch failed` has the reason.
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const reason = inner instanceof Error ? inner.message : String(inner);
  return new ApiError('connection_failed', `${problem} (${reason})`, { cause });
}

/** 128 random bits as hex; works in insecure browser contexts, too. */
export function createKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
