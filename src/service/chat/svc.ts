import { ApiError } from '../../contract/errors.ts';
import { type Svc, toSessionIds } from '../../contract/session.ts';
import type { ChatSession } from './chat-session.ts';

/** The field `svc` of a reply. */
export function toSvc(session: ChatSession, toTraceUrl: (traceId: string) => string): Svc {
  return {
    ...toSessionIds(session.id),
    trace_id: session.traceId,
    trace_url: toTraceUrl(session.traceId),
    scenario: session.options.scenario,
    status: session.status,
    steps: session.steps,
  };
}

/** Headers that name the session and its trace, also in an error reply. */
export function sessionHeaders({ id, traceId }: ChatSession): Readonly<Record<string, string>> {
  return { 'x-svc-session-id': id, 'x-svc-trace-id': traceId };
}

/** Adds the headers of the session to an error. */
export function withSession(error: ApiError, session: ChatSession): ApiError {
  const { code, message, param, cause } = error;
  return new ApiError(code, message, { param, headers: { ...sessionHeaders(session), ...error.headers }, cause });
}
