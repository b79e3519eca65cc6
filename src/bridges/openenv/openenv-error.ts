import { ApiError, BoundaryError } from '../../contract/errors.ts';
import { toPublicMessage } from '../../http/errors.ts';

/** The codes of errors on a socket of the protocol. */
export type OpenEnvErrorCode =
  | 'INVALID_JSON'
  | 'UNKNOWN_TYPE'
  | 'VALIDATION_ERROR'
  | 'EXECUTION_ERROR'
  | 'CAPACITY_REACHED'
  | 'FACTORY_ERROR'
  | 'SESSION_ERROR';

/** One thing that is wrong with a message, in the form of the protocol. */
export interface FieldError {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
}

/** An error in the protocol's own words. */
export class OpenEnvError extends Error {
  override readonly name = 'OpenEnvError';
  readonly code: OpenEnvErrorCode;
  /** Beside message and code: `errors`, `active_sessions` and `max_sessions`, or `factory_name`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: OpenEnvErrorCode, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** A message, or what a `reset` asks for, that is not taken. */
export function invalid(message: string, errors: readonly FieldError[]): OpenEnvError {
  return new OpenEnvError('VALIDATION_ERROR', message, { errors });
}

/** One field that is at fault. */
export function invalidField(field: string, message: string): OpenEnvError {
  return invalid(message, [{ type: 'value_error', loc: [field], msg: message }]);
}

/** The parts of an answer to what was thrown. */
export interface ErrorContext {
  /** Name of the environment that is served. */
  readonly environment: string;
  readonly activeSessions: number;
  readonly maxSessions: number;
}

/** The error that a client is told. Undefined for a fault of ours, which the log has to say. */
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
