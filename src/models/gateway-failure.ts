import { BoundaryError, messageOf } from '../contract/errors.ts';
import { isJsonObject, type Json } from '../contract/json.ts';
import { cleanGatewayText } from './gateway-text.ts';

/**
 * The kind of a failed try: the gateway `answered` with an error, the connection was `lost` (refused, reset or cut), or
 * the gateway was `silent` for too long.
 */
export type FailureKind = 'answered' | 'lost' | 'silent';

export interface FailureDetails {
  readonly status?: number | undefined;
  /** `code` and `type` of the gateway's error, as text. */
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  readonly headers?: unknown;
  readonly cause?: unknown;
}

/** One failed try. The message is the gateway's own text and must be cleaned before it is shown. */
export class GatewayFailure extends Error {
  override readonly name = 'GatewayFailure';
  readonly kind: FailureKind;
  readonly details: FailureDetails;

  constructor(kind: FailureKind, message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.details = details;
  }

  /** True if the same request may succeed a moment later. */
  get isPassing(): boolean {
    if (this.kind !== 'answered') return this.kind === 'lost';
    const { status, code, type, headers } = this.details;
    if (this.isContextOverflow || readHeader(headers, 'x-should-retry') === 'false') return false;
    if (code === 'insufficient_quota' || type === 'insufficient_quota') return false;
    if (status === undefined) return PASSING_TYPES.has(type ?? '') || PASSING_TYPES.has(code ?? '');
    return status === 408 || status === 409 || status === 429 || status >= 500;
  }

  /** True if the transcript is too long for the model, recognized by the error's code or by vendors' wordings. */
  get isContextOverflow(): boolean {
    const { status, code, type } = this.details;
    if (OVERFLOW_CODES.has(code ?? '') || OVERFLOW_CODES.has(type ?? '')) return true;
    // A token rate limit has a similar wording.
    return (
      this.kind === 'answered' && status !== 429 && OVERFLOW_WORDINGS.some((wording) => wording.test(this.message))
    );
  }

  /** Milliseconds that the gateway asks to wait; undefined if it names none. */
  retryAfterMs(now: number): number | undefined {
    const milliseconds = Number.parseFloat(readHeader(this.details.headers, 'retry-after-ms') ?? '');
    if (milliseconds >= 0) return milliseconds;
    const after = readHeader(this.details.headers, 'retry-after') ?? '';
    if (/^\s*\d+(\.\d+)?\s*$/.test(after)) return Number.parseFloat(after) * 1_000;
    const date = Date.parse(after);
    return Number.isNaN(date) ? undefined : Math.max(0, date - now);
  }

  /** The failure as a run's error: the model, what happened, the gateway's cleaned text, and what to do. */
  toBoundaryError(model: string, tries: number, keys: readonly string[]): BoundaryError {
    const text = cleanGatewayText(this.message, keys);
    const after = tries > 1 ? ` (${tries} tries)` : '';
    // Only the cleaned text is kept, because the client's errors contain the request and the reply.
    const cause =
      this.cause === undefined ? {} : { cause: new Error(cleanGatewayText(describeCauses(this.cause), keys)) };
    if (this.kind === 'silent')
      return new BoundaryError('model', 'model_timeout', `Model ${model}: ${text}${after}`, cause);
    if (this.kind === 'lost') {
      const message = `Model ${model}: the gateway did not answer to the end${after}: ${withoutPeriod(text)}. Check that the gateway is up and that PROCTOR_GATEWAY_URL is its address`;
      return new BoundaryError('model', /timed? ?out/i.test(text) ? 'model_timeout' : 'model_failed', message, cause);
    }
    const status = this.details.status === undefined ? 'an error' : String(this.details.status);
    const code = this.isContextOverflow ? 'context_length_exceeded' : 'model_failed';
    const way = wayOut(this.details.status);
    const said = (way === '' ? text : withoutPeriod(text)) || 'no text';
    const message = `Model ${model}: the gateway answered ${status}${after}: ${said}${way}`;
    return new BoundaryError('model', code, message, { ...cause, status: this.details.status });
  }
}

/** Removes the period, so that the sentence can go on. */
function withoutPeriod(text: string): string {
  return text.replace(/[\s.]+$/, '');
}

/** True if the gateway refused the form of a request. */
export function isRefusal({ details }: GatewayFailure): boolean {
  return details.status === 400 || details.status === 422;
}

/**
 * Sends a request that asks for the usage of a stream. A gateway that refuses to be asked is sent the request once more
 * without that, which is no retry.
 */
export async function sendWithUsage<Body extends { readonly stream_options?: unknown }, T>(
  body: Body,
  send: (body: Omit<Body, 'stream_options'>) => Promise<T>,
  onRefused?: () => void,
): Promise<T> {
  try {
    return await send(body);
  } catch (thrown) {
    const { stream_options: asked, ...without } = body;
    const failure = toGatewayFailure(thrown);
    if (asked === undefined || !isRefusal(failure) || !/stream_options|include_usage/.test(failure.message))
      throw thrown;
    onRefused?.();
    return await send(without);
  }
}

/** Reads a client's error by its fields, because every version of `openai` has its own classes. */
export function toGatewayFailure(thrown: unknown): GatewayFailure {
  if (thrown instanceof GatewayFailure) return thrown;
  if (typeof thrown !== 'object' || thrown === null) return new GatewayFailure('lost', String(thrown));
  const status = 'status' in thrown && typeof thrown.status === 'number' ? thrown.status : undefined;
  const body = 'error' in thrown ? thrown.error : undefined;
  const headers = 'headers' in thrown ? thrown.headers : undefined;
  if (status === undefined && !isJsonObject(body)) {
    return new GatewayFailure('lost', describeCauses(thrown), { cause: thrown });
  }
  return answeredFailure(isJsonObject(body) ? body : messageOf(thrown), { status, headers, cause: thrown });
}

/**
 * Makes the failure from an error object in a reply or a stream. A numeric `code` (OpenRouter, vLLM) is used as status
 * if there is no other.
 */
export function answeredFailure(error: Json, details: FailureDetails = {}): GatewayFailure {
  if (!isJsonObject(error)) return new GatewayFailure('answered', textOrJson(error), details);
  const status = details.status ?? statusOf(error.status) ?? statusOf(error.code);
  const raw = isJsonObject(error.metadata) && typeof error.metadata.raw === 'string' ? `: ${error.metadata.raw}` : '';
  const message =
    error.message === undefined || error.message === '' ? JSON.stringify(error) : textOrJson(error.message);
  return new GatewayFailure('answered', `${message}${raw}`, {
    ...details,
    status,
    code: typeof error.code === 'string' ? error.code : undefined,
    type: typeof error.type === 'string' ? error.type : undefined,
  });
}

/** Types and codes of errors that may pass. Errors in a stream have no status. */
const PASSING_TYPES: ReadonlySet<string> = new Set([
  'server_error',
  'internal_server_error',
  'internal_error',
  'api_error',
  'overloaded_error',
  'rate_limit_error',
  'rate_limit_exceeded',
  'timeout_error',
]);

const OVERFLOW_CODES: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'exceed_context_size_error',
  'model_context_window_exceeded',
]);

const OVERFLOW_WORDINGS: readonly RegExp[] = [
  /maximum (?:context|model|sequence|prompt|input) length/i,
  /context (?:length|window|size)[^.]{0,40}(?:exceed|too (?:long|large|small)|limit)/i,
  /(?:exceed|longer than|greater than|larger than|too large for)[^.]{0,60}context (?:length|window|size)/i,
  /(?:prompt|input|request) is too long/i,
  /input token count[^.]{0,40}exceeds the maximum/i,
  /exceeded model token limit/i,
  /reduce the length of the (?:messages|prompt|input)/i,
  /input(?:s)? tokens \+ max_new_tokens/i,
];

function wayOut(status: number | undefined): string {
  if (status === 401 || status === 403) return '. Check the key of the gateway (PROCTOR_GATEWAY_API_KEY)';
  if (status === 404) return '. Check the name of the model, and that PROCTOR_GATEWAY_URL ends with its /v1';
  return '';
}

function statusOf(value: Json | undefined): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined;
}

function textOrJson(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Reads a header from a `Headers` object or (openai 4) a plain object. */
function readHeader(headers: unknown, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  if (typeof headers !== 'object' || headers === null) return undefined;
  const value: unknown = Reflect.get(headers, name);
  return typeof value === 'string' ? value : undefined;
}

/** Joins the messages of all causes, because `fetch failed` alone says nothing. */
function describeCauses(thrown: unknown): string {
  const texts: string[] = [];
  for (let at: unknown = thrown; at instanceof Error && texts.length < 5; at = at.cause) {
    // The error for several addresses that failed has only a code.
    const text = (at.message || ('code' in at ? String(at.code) : at.name)).replace(/\.$/, '');
    if (!texts.includes(text)) texts.push(text);
  }
  return texts.length === 0 ? String(thrown) : texts.join(': ');
}
