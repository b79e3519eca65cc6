import { homedir } from 'node:os';
import { ApiError, BoundaryError, ERRORS } from '../contract/errors.ts';

/** What a client gets to see of anything that a route threw; what is not an answer of ours becomes `internal_error`. */
export function toApiError(thrown: unknown, requestId: string): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof BoundaryError) {
    return new ApiError(upstreamCode(thrown), withoutMachinePaths(thrown.message), { cause: thrown });
  }
  return new ApiError(
    'internal_error',
    `Something failed on our side. The server's log says what, under the request id ${requestId}.`,
    { cause: thrown },
  );
}

function upstreamCode(error: BoundaryError) {
  if (error.code === 'context_length_exceeded' || error.code === 'model_not_found') return error.code;
  if (ERRORS[error.code].type === 'upstream_error') return error.code;
  return error.boundary === 'model' ? 'model_failed' : 'environment_failed';
}

/** An environment's own words may name files of this machine: the reply does not say where they lie. */
function withoutMachinePaths(message: string): string {
  return message.replaceAll('file://', '').replaceAll(`${process.cwd()}/`, '').replaceAll(`${homedir()}/`, '~/');
}
