import { ApiError, BoundaryError, ERRORS, isReplyErrorCode } from '../../../contract/errors.ts';
import { toPublicMessage } from '../../redaction/machine-text.ts';

/** The error that a client sees for a thrown value. Anything but an `ApiError` becomes `internal_error`. */
export function toApiError(thrown: unknown, requestId: string): ApiError {
  // A failed call to another service has client codes such as `connection_failed`. Here it is an internal error.
  if (thrown instanceof ApiError && isReplyErrorCode(thrown.code)) return thrown;
  if (thrown instanceof BoundaryError) {
    return new ApiError(upstreamCode(thrown), toPublicMessage(thrown.message), { cause: thrown });
  }
  return new ApiError(
    'internal_error',
    `Something failed on our side. The server's log says what, under the request id ${requestId}.`,
    { cause: thrown },
  );
}

function upstreamCode(error: BoundaryError) {
  if (error.code === 'context_length_exceeded' || error.code === 'model_not_found') return error.code;
  if (isReplyErrorCode(error.code) && ERRORS[error.code].type === 'upstream_error') return error.code;
  return error.boundary === 'model' ? 'model_failed' : 'environment_failed';
}

/** Runs a check whose errors name fields of another request, and sets `param` to the field of this one. */
export async function asField<T>(field: string, check: () => T | Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new ApiError(error.code, error.message, { param: field, headers: error.headers, cause: error });
  }
}

/** The error for new work after SIGTERM. */
export function shuttingDown(): ApiError {
  return new ApiError('shutting_down', 'The server is shutting down and takes no new work; try again in a moment.', {
    headers: { 'retry-after': '5' },
  });
}
