import type { Logger } from 'pino';
import type { ApiError } from '../contract/errors.ts';

/**
 * Logs a failure of ours that goes out where the HTTP app does not see it: in a stream that has begun, or as the result
 * of a tool. As the app logs its own: a 503 is an answer, not a fault.
 */
export function logFailure(logger: Logger, error: ApiError, fields: Readonly<Record<string, string>>): void {
  if (error.status < 500 || error.status === 503) return;
  logger.error({ ...fields, code: error.code, err: error.cause ?? error }, error.message);
}
