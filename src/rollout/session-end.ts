import { ApiError, BoundaryError, messageOf } from '../contract/errors.ts';
import type { SessionStatus } from '../contract/session.ts';
import { toPublicMessage } from '../http/errors.ts';
import type { FinishResult, TurnResult } from './scenario-session.ts';

/** How a chat session ended, for whoever asks afterwards. */
export interface SessionEnd {
  readonly status: Exclude<SessionStatus, 'active'>;
  /** Where it was evaluated. */
  readonly result: FinishResult | null;
  /** Why it failed. */
  readonly message: string | null;
}

/** The error for requests to a session that has ended. */
export function sessionFinished(
  id: string,
  { status, message }: { readonly status: SessionStatus; readonly message: string | null },
): ApiError {
  const why = message === null ? '' : `: ${toPublicMessage(message).replace(/\.$/, '')}`;
  return new ApiError('session_finished', `Session ${id} is ${status}${why}. Start a new one.`);
}

/** Why a turn has no answer; null where it has one. */
export function causeOf(result: TurnResult): unknown {
  if (result.status === 'failed') return result.error;
  return result.status === 'aborted' ? result.reason : null;
}

/** A cause as the `error` of a trace, named by the boundary at which it happened. */
export function toBoundaryError(cause: unknown): BoundaryError {
  if (cause instanceof BoundaryError) return cause;
  if (cause instanceof ApiError) return new BoundaryError('worker', cause.code, cause.message, { cause });
  return new BoundaryError('worker', 'internal_error', messageOf(cause), { cause });
}
