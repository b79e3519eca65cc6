import type { Boundary } from '../../contract/error-shapes.ts';
import { ApiError, BoundaryError, messageOf } from '../../contract/errors.ts';
import type { Json } from '../../contract/json.ts';
import type { Evaluation } from '../../contract/scenario.ts';
import type { EventOf } from '../../contract/service/event.ts';
import type { StopReason } from '../../contract/service/trace.ts';
import type { SessionStatus } from '../../contract/session.ts';
import { SharedEnvironmentError } from '../../environment/client/client-failure.ts';
import type { EnvironmentClient } from '../../environment/client/environment-client.ts';
import { toPublicMessage } from '../../support/redaction/machine-text.ts';
import type { TraceSpan } from '../../support/telemetry/trace-span.ts';
import { RunTimeoutError } from './limits.ts';

/** How a session ended. */
export interface SessionEnd {
  /** `released` and `lost` write no end into the trace, so that another attempt can continue it. */
  readonly status: 'completed' | 'failed' | 'cancelled' | 'released' | 'lost';
  readonly stopReason: StopReason;
  /** Submitted answer, evaluated or not; null without one. */
  readonly answer: Json;
  /** Evaluation, which a failed session may have too. Its reward does not count then. */
  readonly evaluation: Evaluation | null;
  readonly reward: number | null;
  readonly error: BoundaryError | null;
}

export interface FinishOptions {
  /** Stop reason of the session if its evaluation succeeds. */
  readonly stopReason: StopReason;
  /** Failure of the last turn. The evaluation is recorded, and the session fails with this error. */
  readonly error?: BoundaryError | null;
  /** Answer to submit unchanged. Default: the last assistant text, read by the scenario's answer schema. */
  readonly answer?: Json | undefined;
  /** False if the answer does not fit the scenario's answer schema. Default true. */
  readonly fits?: boolean;
  /** True asks the model to repair an answer that does not fit. If that fails, the plain text is submitted. */
  readonly repairs?: boolean;
  /** Milliseconds for the evaluation, if lower than the session's own limit. */
  readonly limitMs?: number;
  readonly span?: TraceSpan | undefined;
}

/** An end that is about to be written. */
export type SessionEnding = Pick<SessionEnd, 'status' | 'stopReason' | 'error'> &
  Partial<Pick<SessionEnd, 'evaluation' | 'reward'>>;

/** An end that does not wait: work in progress is aborted. */
export interface SessionStop extends Pick<SessionEnd, 'status' | 'stopReason' | 'error'> {
  readonly status: 'failed' | 'cancelled' | 'released';
  /** Reason for the abort. */
  readonly reason: unknown;
}

/** The stop of a session that cannot go on. @param boundary where the cause happened, if the cause has none itself. */
export function stopOf(cause: unknown, boundary: Boundary = 'worker'): SessionStop {
  return { status: 'failed', stopReason: 'error', error: toBoundaryError(cause, boundary), reason: cause };
}

/** The ending of a session that was evaluated. After a failure the reward does not count. */
export function gradedEnding({ stopReason, error = null }: FinishOptions, evaluation: Evaluation): SessionEnding {
  if (error !== null) return { status: 'failed', stopReason, error, evaluation };
  return { status: 'completed', stopReason, error, evaluation, reward: evaluation.reward };
}

/**
 * The ending of a session whose evaluation failed. @param thrown the evaluation's error; an earlier one takes
 * precedence.
 */
export function ungradedEnding({ stopReason, error = null }: FinishOptions, thrown: unknown): SessionEnding {
  return error === null ? stopOf(thrown, 'evaluate') : { status: 'failed', stopReason, error };
}

export function toSessionEnd(ending: SessionEnding, answer: Json): SessionEnd {
  const { status, stopReason, error, evaluation = null, reward = null } = ending;
  return { status, stopReason, answer, evaluation, reward, error };
}

/** Events for the end of the trace: none if another attempt continues it. */
export function toEndEvents({ status, stopReason, reward, error }: SessionEnd): readonly EventOf<'run.finished'>[] {
  if (status === 'released' || status === 'lost') return [];
  return [{ type: 'run.finished', status, stop_reason: stopReason, reward, error: error?.toBody() ?? null }];
}

/**
 * The ending of a run whose environment may be gone. If the process held only this run, the run has failed. If it held
 * other sessions, they may have killed it: the run is lost and can start again. A failure of the model or the worker
 * stays.
 */
export function blameEnvironment(
  ending: SessionEnding,
  client: Pick<EnvironmentClient, 'isLost' | 'isShared'> | undefined,
  isClosed: boolean,
): SessionEnding {
  const { error } = ending;
  if (error === null || error.boundary === 'model' || error.boundary === 'worker') return ending;
  // Before there is a connection, only the class of the error says whether the process was shared.
  const isShared = client?.isShared === true || error instanceof SharedEnvironmentError;
  const isLost = isClosed || client?.isLost === true || error instanceof SharedEnvironmentError;
  if (!isLost) return ending;
  const blamed = new BoundaryError('environment', error.code, error.message, { cause: error });
  return { ...ending, status: isShared ? 'lost' : 'failed', error: blamed };
}

/** The status of a chat session with this end. */
export function statusOf({ status, stopReason }: Pick<SessionEnd, 'status' | 'stopReason'>): SessionStatus {
  if (status === 'completed') return stopReason === 'expired' ? 'expired' : 'finished';
  return status === 'failed' || status === 'lost' ? 'failed' : 'abandoned';
}

/** The error for requests to a session that has ended. */
export function sessionFinished(
  id: string,
  { status, message }: { readonly status: SessionStatus; readonly message: string | null },
): ApiError {
  const why = message === null ? '' : `: ${toPublicMessage(message).replace(/\.$/, '')}`;
  return new ApiError('session_finished', `Session ${id} is ${status}${why}. Start a new one.`);
}

/** A cause as the `error` of a trace, with the boundary at which it happened. */
export function toBoundaryError(thrown: unknown, boundary: Boundary): BoundaryError {
  if (thrown instanceof BoundaryError) return thrown;
  const cause = { cause: thrown };
  if (thrown instanceof ApiError) return new BoundaryError('worker', thrown.code, thrown.message, cause);
  if (thrown instanceof RunTimeoutError) {
    const missing = boundary === 'setup' ? 'the scenario was set up' : 'the environment was ready';
    return new BoundaryError(boundary, 'environment_failed', `${thrown.message}, before ${missing}`, cause);
  }
  if (boundary === 'worker') return new BoundaryError(boundary, 'internal_error', messageOf(thrown), cause);
  const code = boundary === 'model' ? 'model_failed' : 'environment_failed';
  return new BoundaryError(boundary, code, messageOf(thrown), cause);
}
