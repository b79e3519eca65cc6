import { randomUUID } from 'node:crypto';

/** The header that every reply carries. Ids are ours alone: one that a client sends would not be unique. */
export const REQUEST_ID_HEADER = 'x-request-id';

/** The header of replies that are about a run or a session: its trace. */
export const TRACE_ID_HEADER = 'x-svc-trace-id';

/** Every request has one: `randomUUID` draws from bytes that were fetched ahead, where `randomBytes` asks the system each time. */
export function createRequestId(): string {
  return `req_${randomUUID().replaceAll('-', '')}`;
}
