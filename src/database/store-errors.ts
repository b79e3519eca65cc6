import { ApiError } from '../contract/errors.ts';

/** The connection was lost or never made, so it is unknown whether the statement was executed. */
export class ConnectionLostError extends ApiError {
  constructor(cause: unknown) {
    super('store_unavailable', 'The store does not answer. Try again in a few seconds.', {
      headers: { 'retry-after': '5' },
      cause,
    });
  }
}

/** A number or a name that has to be unique is there already. */
export class UniqueViolationError extends Error {
  override readonly name = 'UniqueViolationError';
}

/** Nothing can be written until there is room again; what was written is whole. */
export function storeIsFull(cause: unknown): ApiError {
  return new ApiError(
    'store_unavailable',
    'The disk of the store is full: nothing new is accepted until there is room.',
    {
      headers: { 'retry-after': '30' },
      cause,
    },
  );
}

/** The files of the database cannot be read or written: the disk is gone, or broken, or takes no writes. */
export function storeIsAway(cause: unknown): ApiError {
  return new ApiError('store_unavailable', 'The disk of the store does not answer. Try again in a few seconds.', {
    headers: { 'retry-after': '30' },
    cause,
  });
}

/** Others hold what this needs. */
export function storeIsBusy(cause: unknown): ApiError {
  return new ApiError('store_unavailable', 'The store is locked by others for too long. Try again in a few seconds.', {
    headers: { 'retry-after': '5' },
    cause,
  });
}
