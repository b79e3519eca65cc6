import { ApiError } from '../../contract/errors.ts';

/** The connection was lost or never opened, so the statement may or may not have been executed. */
export class ConnectionLostError extends ApiError {
  constructor(cause: unknown) {
    super('store_unavailable', 'The store does not answer. Try again in a few seconds.', {
      headers: { 'retry-after': '5' },
      cause,
    });
  }
}

/** A number or a name that has to be unique exists already. */
export class UniqueViolationError extends Error {
  override readonly name = 'UniqueViolationError';
}

/** The error for a full disk. Nothing can be written until there is space; the data is intact. */
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

/** The error for database files that cannot be read or written: the disk is missing, broken or read-only. */
export function storeIsAway(cause: unknown): ApiError {
  return new ApiError('store_unavailable', 'The disk of the store does not answer. Try again in a few seconds.', {
    headers: { 'retry-after': '30' },
    cause,
  });
}

/** The error for a lock that other transactions hold for too long. */
export function storeIsBusy(cause: unknown): ApiError {
  return new ApiError('store_unavailable', 'The store is locked by others for too long. Try again in a few seconds.', {
    headers: { 'retry-after': '5' },
    cause,
  });
}
