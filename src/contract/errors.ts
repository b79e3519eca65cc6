import type { Boundary, ErrorBody, RunErrorBody } from './error-shapes.ts';

/** Every error code of the HTTP surfaces with its status and type (contract section 0). The set is closed. */
export const ERRORS = {
  invalid_json: { status: 400, type: 'invalid_request_error' },
  missing_required_parameter: { status: 400, type: 'invalid_request_error' },
  invalid_parameter: { status: 400, type: 'invalid_request_error' },
  invalid_scenario_args: { status: 400, type: 'invalid_request_error' },
  /** The transcript is longer than the model's context. OpenAI uses the same code, so clients do not try again. */
  context_length_exceeded: { status: 400, type: 'invalid_request_error' },
  /** The request would train on a task that is held out or belongs to the split `test`. */
  held_out_task: { status: 400, type: 'invalid_request_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  forbidden_origin: { status: 403, type: 'permission_error' },
  forbidden: { status: 403, type: 'permission_error' },
  env_not_found: { status: 404, type: 'not_found_error' },
  scenario_not_found: { status: 404, type: 'not_found_error' },
  model_not_found: { status: 404, type: 'not_found_error' },
  session_not_found: { status: 404, type: 'not_found_error' },
  trace_not_found: { status: 404, type: 'not_found_error' },
  blob_not_found: { status: 404, type: 'not_found_error' },
  evaluation_not_found: { status: 404, type: 'not_found_error' },
  taskset_not_found: { status: 404, type: 'not_found_error' },
  job_not_found: { status: 404, type: 'not_found_error' },
  provider_not_found: { status: 404, type: 'not_found_error' },
  regrade_not_found: { status: 404, type: 'not_found_error' },
  check_not_found: { status: 404, type: 'not_found_error' },
  tool_not_found: { status: 404, type: 'not_found_error' },
  agent_not_found: { status: 404, type: 'not_found_error' },
  unknown_url: { status: 404, type: 'not_found_error' },
  method_not_allowed: { status: 405, type: 'invalid_request_error' },
  session_busy: { status: 409, type: 'conflict_error' },
  session_finished: { status: 409, type: 'conflict_error' },
  session_conflict: { status: 409, type: 'conflict_error' },
  idempotency_conflict: { status: 409, type: 'conflict_error' },
  request_in_progress: { status: 409, type: 'conflict_error' },
  run_finished: { status: 409, type: 'conflict_error' },
  run_running: { status: 409, type: 'conflict_error' },
  evaluation_finished: { status: 409, type: 'conflict_error' },
  name_taken: { status: 409, type: 'conflict_error' },
  request_too_large: { status: 413, type: 'invalid_request_error' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  quota_exceeded: { status: 429, type: 'rate_limit_error' },
  internal_error: { status: 500, type: 'server_error' },
  environment_failed: { status: 502, type: 'upstream_error' },
  model_failed: { status: 502, type: 'upstream_error' },
  model_timeout: { status: 504, type: 'upstream_error' },
  turn_timeout: { status: 504, type: 'upstream_error' },
  shutting_down: { status: 503, type: 'server_error' },
  capacity_exceeded: { status: 503, type: 'server_error' },
  /** The database, the queue or the disk does not answer. */
  store_unavailable: { status: 503, type: 'server_error' },
} as const;

/** A code that an HTTP surface answers with. */
export type ReplyErrorCode = keyof typeof ERRORS;

/**
 * Codes of error replies, and two that only a client creates: `connection_failed` (status 0) when the request got no
 * answer, and `unexpected_reply` when something else than the service answered, such as a proxy.
 */
export type ErrorCode = ReplyErrorCode | 'connection_failed' | 'unexpected_reply';

export interface ApiErrorOptions {
  /** The request field at fault, null for a path. */
  readonly param?: string | null;
  /** Reply headers that belong to the error, such as `retry-after` or `allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/** The error reply that a client has read. */
export interface ErrorReply {
  readonly status: number;
  readonly type: string;
  readonly requestId?: string | null;
}

/**
 * An error of an HTTP surface, on both sides: a route throws it, and a client of the route gets it with the same code,
 * `param` and message. The message holds the offending value and the way out, never a stack, a path of the machine or a
 * key.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly type: string;
  /** The request field at fault, null for a path. */
  readonly param: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Id of the request in the log of the service; null when no reply was read. */
  readonly requestId: string | null;

  /** @param reply the error reply, when a client creates the error. */
  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}, reply?: ErrorReply) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    const known = isReplyErrorCode(code) ? ERRORS[code] : { status: 0, type: 'server_error' };
    this.code = code;
    this.status = reply?.status ?? known.status;
    this.type = reply?.type ?? known.type;
    this.param = options.param ?? null;
    this.headers = options.headers ?? {};
    this.requestId = reply?.requestId ?? null;
  }

  /** Seconds to wait before the next try, from `Retry-After`. */
  get retryAfterSeconds(): number | null {
    const seconds = Number(this.headers['retry-after'] ?? Number.NaN);
    return Number.isFinite(seconds) ? seconds : null;
  }

  toBody(): ErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}

export function isReplyErrorCode(code: string): code is ReplyErrorCode {
  return Object.hasOwn(ERRORS, code);
}

/**
 * Code of a run that was ended because its evaluation's budget cannot pay the next model call. No HTTP surface uses it.
 */
export const OVER_BUDGET = 'over_budget';
/** Code of a run whose simulated user failed. Such a run does not count against the agent. */
export const USER_ERROR = 'user_error';
/** Code of a run whose agent is a command that ended before it answered. No HTTP surface uses it. */
export const AGENT_FAILED = 'agent_failed';
/** Code of a run whose agent began without the tools of its scenario. It does not count against the agent's model. */
export const AGENT_WITHOUT_TOOLS = 'agent_without_tools';
/**
 * Code of a run whose tool blocks its environment, so that the environment stopped answering. No HTTP surface uses it.
 */
export const TOOL_BLOCKED = 'tool_blocked';
/** Code of a run whose agent ended its own sandbox. It counts as a failure of the agent. No HTTP surface uses it. */
export const SANDBOX_ENDED = 'sandbox_ended';
/** Code of a fork whose repeated steps gave another result than the forked trace has. No HTTP surface uses it. */
export const FORK_DIFFERS = 'fork_differs';
export type RunErrorCode =
  | ErrorCode
  | typeof OVER_BUDGET
  | typeof AGENT_WITHOUT_TOOLS
  | typeof AGENT_FAILED
  | typeof TOOL_BLOCKED
  | typeof SANDBOX_ENDED
  | typeof FORK_DIFFERS
  | typeof USER_ERROR;

/** A failure of a run, named by the boundary at which it happened. It becomes data on the trace. */
export class BoundaryError extends Error {
  override readonly name = 'BoundaryError';
  readonly boundary: Boundary;
  readonly code: RunErrorCode;
  /** HTTP status of a gateway's answer. */
  readonly status: number | undefined;

  constructor(
    boundary: Boundary,
    code: RunErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly status?: number | undefined } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.boundary = boundary;
    this.code = code;
    this.status = options.status;
  }

  toBody(): RunErrorBody {
    const { boundary, code, message, status } = this;
    return { boundary, code, message, ...(status === undefined ? {} : { status }) };
  }
}

/** The message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
