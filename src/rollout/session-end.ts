import { SharedEnvironmentError } from '../client/client-failure.ts';
import type { EnvironmentClient } from '../client/environment-client.ts';
import { ApiError, type Boundary, BoundaryError, messageOf } from '../contract/errors.ts';
import type { EventOf } from '../contract/event.ts';
import type { Json } from '../contract/json.ts';
import type { Evaluation } from '../contract/scenario.ts';
import type { SessionStatus } from '../contract/session.ts';
import type { StopReason } from '../contract/trace.ts';
import { toPublicMessage } from '../http/errors.ts';
import type { TraceSpan } from '../telemetry/trace-span.ts';
import { RunTimeoutError } from './limits.ts';

/** How a session ended. */
export interface SessionEnd {
  /** `released` and `lost`: without an end in its trace, so that another attempt can go on there. */
  readonly status: 'completed' | 'failed' | 'cancelled' | 'released' | 'lost';
  readonly stopReason: StopReason;
  /** The answer that was submitted, whether it could be evaluated or not; null without one. */
  readonly answer: Json;
  /** Also of a failed one: its reward does not count then. */
  readonly evaluation: Evaluation | null;
  readonly reward: number | null;
  readonly error: BoundaryError | null;
}

export interface FinishOptions {
  /** Why the session ends, where its evaluation succeeds. */
  readonly stopReason: StopReason;
  /** The failure of the turn before: the evaluation is recorded, and the session is failed by this. */
  readonly error?: BoundaryError | null;
  /** Submitted as it is. Without one: the last assistant text, read by the scenario's answer schema. */
  readonly answer?: Json | undefined;
  /** False: that answer does not fit the scenario's answer schema. Default true. */
  readonly fits?: boolean;
  /** Asks once more for an answer that does not fit; if it cannot be repaired in time, it is submitted as plain text. */
  readonly repairs?: boolean;
  /** Milliseconds for the evaluation; the session's own limit where it is lower. */
  readonly limitMs?: number;
  readonly span?: TraceSpan | undefined;
}

/** An end that is about to be written. */
export type SessionEnding = Pick<SessionEnd, 'status' | 'stopReason' | 'error'> &
  Partial<Pick<SessionEnd, 'evaluation' | 'reward'>>;

/** An end that is not waited for: what goes on is aborted. */
export interface SessionStop extends Pick<SessionEnd, 'status' | 'stopReason' | 'error'> {
  readonly status: 'failed' | 'cancelled' | 'released';
  /** The reason that the aborted parts are given. */
  readonly reason: unknown;
}

/** The stop of a session that cannot go on. @param boundary where it happened, if the cause does not say. */
export function stopOf(cause: unknown, boundary: Boundary = 'worker'): SessionStop {
  return { status: 'failed', stopReason: 'error', error: toBoundaryError(cause, boundary), reason: cause };
}

/** The ending of a session that was evaluated. After a failure the reward does not count. */
export function gradedEnding({ stopReason, error = null }: FinishOptions, evaluation: Evaluation): SessionEnding {
  if (error !== null) return { status: 'failed', stopReason, error, evaluation };
  return { status: 'completed', stopReason, error, evaluation, reward: evaluation.reward };
}

/** The ending of a session whose evaluation failed. @param thrown by the evaluation; a failure before it comes first. */
export function ungradedEnding({ stopReason, error = null }: FinishOptions, thrown: unknown): SessionEnding {
  return error === null ? stopOf(thrown, 'evaluate') : { status: 'failed', stopReason, error };
}

export function toSessionEnd(ending: SessionEnding, answer: Json): SessionEnd {
  const { status, stopReason, error, evaluation = null, reward = null } = ending;
  return { status, stopReason, answer, evaluation, reward, error };
}

/** The end as the trace tells it: not at all, where another attempt goes on there. */
export function toEndEvents({ status, stopReason, reward, error }: SessionEnd): readonly EventOf<'run.finished'>[] {
  if (status === 'released' || status === 'lost') return [];
  return [{ type: 'run.finished', status, stop_reason: stopReason, reward, error: error?.toBody() ?? null }];
}

/**
 * The ending of a run, where its environment may be gone. A process that died alone has failed the run. One that held
 * other sessions may have died of them: the run is lost, and can start again. A failure of the model or the worker stays.
 */
export function blameEnvironment(
  ending: SessionEnding,
  client: Pick<EnvironmentClient, 'isLost' | 'isShared'> | undefined,
  isClosed: boolean,
): SessionEnding {
  const { error } = ending;
  if (error === null || error.boundary === 'model' || error.boundary === 'worker') return ending;
  // Until it is connected, its error alone knows.
  const isShared = client?.isShared === true || error instanceof SharedEnvironmentError;
  const isLost = isClosed || client?.isLost === true || error instanceof SharedEnvironmentError;
  if (!isLost) return ending;
  const blamed = new BoundaryError('environment', error.code, error.message, { cause: error });
  return { ...ending, status: isShared ? 'lost' : 'failed', error: blamed };
}

/** The status of a chat session that ended so. */
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

/** A cause as the `error` of a trace, named by the boundary at which it happened. */
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
