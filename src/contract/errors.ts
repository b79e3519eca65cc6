import { z } from 'zod';

/** Every error code of the HTTP surfaces with its status and type (contract section 0). The set is closed. */
export const ERRORS = {
  invalid_json: { status: 400, type: 'invalid_request_error' },
  missing_required_parameter: { status: 400, type: 'invalid_request_error' },
  invalid_parameter: { status: 400, type: 'invalid_request_error' },
  invalid_scenario_args: { status: 400, type: 'invalid_request_error' },
  /** The transcript is longer than the model can read. As OpenAI answers it, so that no client tries it again. */
  context_length_exceeded: { status: 400, type: 'invalid_request_error' },
  /** A task that is held out, or of the split `test`, would be trained on. */
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

export type ErrorCode = keyof typeof ERRORS;

/** The body of every error reply of an HTTP surface; all four keys are present. */
export const errorBodySchema = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string(),
  }),
});
export type ErrorBody = z.infer<typeof errorBodySchema>;

export interface ApiErrorOptions {
  /** The request field at fault, null for a path. */
  readonly param?: string | null;
  /** Reply headers that belong to the error, such as `retry-after` or `allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly cause?: unknown;
}

/**
 * An error that a client of an HTTP surface gets as it is: its message holds the offending value and the way out,
 * never a stack, a path of the machine or a key.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: ApiErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.param = options.param ?? null;
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  toBody(): ErrorBody {
    return { error: { message: this.message, type: ERRORS[this.code].type, param: this.param, code: this.code } };
  }
}

/** The boundary at which a run failed (contract section 3, "A run"). */
export const boundarySchema = z.enum(['environment', 'setup', 'model', 'tool', 'evaluate', 'worker', 'agent']);
export type Boundary = z.infer<typeof boundarySchema>;

/** `error` of a failed trace. `code` is one of the error codes above, or the one that the failing side gave. */
export const runErrorSchema = z.object({
  boundary: boundarySchema,
  code: z.string(),
  message: z.string(),
  /** HTTP status that the gateway answered with; absent where it did not answer. */
  status: z.int().optional(),
});
export type RunErrorBody = z.infer<typeof runErrorSchema>;

/** Code of a run that was ended because its evaluation's budget does not pay for its next model call. No HTTP surface answers with it. */
export const OVER_BUDGET = 'over_budget';
/** Code of a run whose simulated user failed: it says nothing about the agent. */
export const USER_ERROR = 'user_error';
/** Code of a run whose agent, a command, ended before it had answered. No HTTP surface answers with it. */
export const AGENT_FAILED = 'agent_failed';
/** Code of a run whose agent began without the tools of its scenario: it says nothing about the agent's model. */
export const AGENT_WITHOUT_TOOLS = 'agent_without_tools';
/** Code of a run whose repeated steps gave something else than in the trace that it goes on with. No HTTP surface answers with it. */
export const FORK_DIFFERS = 'fork_differs';
export type RunErrorCode =
  | ErrorCode
  | typeof OVER_BUDGET
  | typeof AGENT_WITHOUT_TOOLS
  | typeof AGENT_FAILED
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

/** The message of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
