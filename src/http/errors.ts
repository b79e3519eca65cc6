import { ApiError, BoundaryError, ERRORS, type ErrorCode, type RunErrorCode } from '../contract/errors.ts';
import { withoutMachineText } from '../redaction/machine-text.ts';

/** The error that a client sees for a thrown value. Anything but an `ApiError` becomes `internal_error`. */
export function toApiError(thrown: unknown, requestId: string): ApiError {
  if (thrown instanceof ApiError) return thrown;
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
  if (isErrorCode(error.code) && ERRORS[error.code].type === 'upstream_error') return error.code;
  return error.boundary === 'model' ? 'model_failed' : 'environment_failed';
}

/** Some codes are those of traces alone. */
function isErrorCode(code: RunErrorCode): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

/**
 * The words of an environment or a gateway as a client may read them: without stacks, and without paths of the machine, but
 * for those below the folder that the server runs in, which are told relative to it.
 */
export function toPublicMessage(message: string): string {
  const folder = process.cwd().replace(/\/*$/, '/');
  if (folder === '/') return withoutMachineText(message);
  return withoutMachineText(message.replaceAll(`file://${folder}`, '').replaceAll(folder, ''));
}

/** The refusal of new work from SIGTERM on. */
export function shuttingDown(): ApiError {
  return new ApiError('shutting_down', 'The server is shutting down and takes no new work; try again in a moment.', {
    headers: { 'retry-after': '5' },
  });
}
