import { randomBytes } from 'node:crypto';

/** The header that every reply carries. Ids are ours alone: one that a client sends would not be unique. */
export const REQUEST_ID_HEADER = 'x-request-id';

export function createRequestId(): string {
  return `req_${randomBytes(16).toString('hex')}`;
}
