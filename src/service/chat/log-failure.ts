import type { Logger } from 'pino';
import type { ApiError } from '../../contract/errors.ts';

/**
 * Logs an internal error that the HTTP app does not see, because it is sent in a running stream or as the result of a
 * tool. As in the app, a 503 is not logged.
 */
export function logFailure(logger: Logger, error: ApiError, fields: Readonly<Record<string, string>>): void {
  if (error.status < 500 || error.status === 503) return;
  logger.error({ ...fields, code: error.code, err: error.cause ?? error }, error.message);
}
