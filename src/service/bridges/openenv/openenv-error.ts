import { ApiError, BoundaryError } from '../../../contract/errors.ts';
import { toPublicMessage } from '../../../support/redaction/machine-text.ts';

/** Error codes of the protocol's sockets. */
export type OpenEnvErrorCode =
  | 'INVALID_JSON'
  | 'UNKNOWN_TYPE'
  | 'VALIDATION_ERROR'
  | 'EXECUTION_ERROR'
  | 'CAPACITY_REACHED'
  | 'FACTORY_ERROR'
  | 'SESSION_ERROR';

/** One fault of a message, in the protocol's form. */
export interface FieldError {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
}

/** An error with a code of the OpenEnv protocol. */
export class OpenEnvError extends Error {
  override readonly name = 'OpenEnvError';
  readonly code: OpenEnvErrorCode;
  /** Fields beside message and code: `errors`, `active_sessions` and `max_sessions`, or `factory_name`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: OpenEnvErrorCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Creates the error for an invalid message or an invalid `reset`. */
export function invalid(message: string, errors: readonly FieldError[]): OpenEnvError {
  return new OpenEnvError('VALIDATION_ERROR', message, { errors });
}

/** Creates the error for one invalid field. */
export function invalidField(field: string, message: string): OpenEnvError {
  return invalid(message, [{ type: 'value_error', loc: [field], msg: message }]);
}

/** Values that the text of an error needs. */
export interface ErrorContext {
  /** Name of the environment that is served. */
  readonly environment: string;
  readonly activeSessions: number;
  readonly maxSessions: number;
}

/** Converts an error for the client. Undefined for an internal error, which the caller logs. */
export function toOpenEnvError(thrown: unknown, context: ErrorContext): OpenEnvError | undefined {
  if (thrown instanceof OpenEnvError) return thrown;
  if (thrown instanceof BoundaryError) {
    const message = toPublicMessage(thrown.message);
    if (thrown.boundary !== 'environment') return new OpenEnvError('EXECUTION_ERROR', message);
    return new OpenEnvError('FACTORY_ERROR', message, { factory_name: context.environment });
  }
  if (!(thrown instanceof ApiError)) return undefined;
  if (thrown.code === 'capacity_exceeded') {
    const counts = { active_sessions: context.activeSessions, max_sessions: context.maxSessions };
    return new OpenEnvError('CAPACITY_REACHED', thrown.message, counts);
  }
  if (thrown.code === 'shutting_down') return new OpenEnvError('SESSION_ERROR', thrown.message);
  if (thrown.status === 400 || thrown.status === 413) return invalidField(thrown.param ?? 'data', thrown.message);
  return new OpenEnvError('EXECUTION_ERROR', thrown.message);
}
