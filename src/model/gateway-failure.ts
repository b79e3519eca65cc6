import { BoundaryError, messageOf } from '../contract/errors.ts';
import { isJsonObject, type Json } from '../contract/json.ts';
import { AnswerFailure } from '../dialects/answer-failure.ts';
import { cleanGatewayText } from './gateway-text.ts';

/**
 * How a try failed: the gateway `answered` with an error, the connection was `lost` (refused, reset, or the stream was
 * cut), or the gateway was `silent` for too long.
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

/** One failed try. Its message is the gateway's own text, not yet fit to be shown. */
export class GatewayFailure extends Error {
  override readonly name = 'GatewayFailure';
  readonly kind: FailureKind;
  readonly details: FailureDetails;

  constructor(kind: FailureKind, message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.details = details;
  }

  /** Whether the same request may do better in a moment. */
  get isPassing(): boolean {
    if (this.kind !== 'answered') return this.kind === 'lost';
    const { status, code, type, headers } = this.details;
    if (this.isContextOverflow || readHeader(headers, 'x-should-retry') === 'false') return false;
    if (code === 'insufficient_quota' || type === 'insufficient_quota') return false;
    if (status === undefined) return PASSING_TYPES.has(type ?? '') || PASSING_TYPES.has(code ?? '');
    return status === 408 || status === 409 || status === 429 || status >= 500;
  }

  /** Whether the transcript is too long for the model: known by its code, else by how vendors word it. */
  get isContextOverflow(): boolean {
    const { status, code, type } = this.details;
    if (OVERFLOW_CODES.has(code ?? '') || OVERFLOW_CODES.has(type ?? '')) return true;
    // A rate limit in tokens reads much the same.
    return (
      this.kind === 'answered' && status !== 429 && OVERFLOW_WORDINGS.some((wording) => wording.test(this.message))
    );
  }

  /** Milliseconds that the gateway asks to be left alone; undefined where it does not say. */
  retryAfterMs(now: number): number | undefined {
    const milliseconds = Number.parseFloat(readHeader(this.details.headers, 'retry-after-ms') ?? '');
    if (milliseconds >= 0) return milliseconds;
    const after = readHeader(this.details.headers, 'retry-after') ?? '';
    if (/^\s*\d+(\.\d+)?\s*$/.test(after)) return Number.parseFloat(after) * 1_000;
    const date = Date.parse(after);
    return Number.isNaN(date) ? undefined : Math.max(0, date - now);
  }

  /** The failure as the boundary of a run: which model, what happened, the gateway's cleaned text, and the way out. */
  toBoundaryError(model: string, tries: number, keys: readonly string[]): BoundaryError {
    const text = cleanGatewayText(this.message, keys);
    const after = tries > 1 ? ` (${tries} tries)` : '';
    // The gateway's library keeps what was sent and answered on its errors: only the cleaned text goes on.
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

/** A sentence that goes on. */
function withoutPeriod(text: string): string {
  return text.replace(/[\s.]+$/, '');
}

/** Reads an error of a client by its shape: every version of `openai` has its own classes. */
export function toGatewayFailure(thrown: unknown): GatewayFailure {
  if (thrown instanceof GatewayFailure) return thrown;
  if (thrown instanceof AnswerFailure) {
    return thrown.kind === 'lost' ? new GatewayFailure('lost', thrown.message) : answeredFailure(thrown.error);
  }
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
 * The failure that an error object tells, from the body of a reply or from the middle of a stream. A numeric `code`
 * (OpenRouter, vLLM) is the status where there is no other.
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

/** Errors in a stream come without a status; these name a passing trouble by its type or code. */
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

/** Headers of a reply, be they a `Headers` or (openai 4) an object. */
function readHeader(headers: unknown, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  if (typeof headers !== 'object' || headers === null) return undefined;
  const value: unknown = Reflect.get(headers, name);
  return typeof value === 'string' ? value : undefined;
}

/** `fetch failed` says nothing: what happened is at the end of the causes. */
function describeCauses(thrown: unknown): string {
  const texts: string[] = [];
  for (let at: unknown = thrown; at instanceof Error && texts.length < 5; at = at.cause) {
    // The error of several addresses that were tried has a code alone.
    const text = (at.message || ('code' in at ? String(at.code) : at.name)).replace(/\.$/, '');
    if (!texts.includes(text)) texts.push(text);
  }
  return texts.length === 0 ? String(thrown) : texts.join(': ');
}
