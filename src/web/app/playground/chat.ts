import { toApiError } from '../../../client/read-error.ts';
import { readEventData } from '../../../client/trace-events.ts';
import { ApiError } from '../../../contract/errors.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { ScenarioEntry } from '../../../contract/scenario.ts';
import type { FinishedSession, SessionEntry } from '../../../contract/session.ts';
import { connection, fetchAsPage } from '../api.ts';

/** A turn of a session that goes on, or the first one of a new session. */
export type Turn =
  | { readonly sessionId: string; readonly message: string }
  | {
      readonly sessionId?: undefined;
      readonly scenario: string;
      readonly scenario_args: JsonObject;
      readonly model?: string;
      readonly max_steps?: number;
      /** Empty: the prompt of the scenario says it all. */
      readonly message: string;
    };

export interface TurnOptions {
  /** Aborted to stop the turn. */
  readonly signal: AbortSignal;
  /** Called with the id as soon as the server says it, for a first turn that fails too. */
  onSession(id: string): void;
}

/** Seconds that an evaluation may take. */
const EVALUATION_SECONDS = 3_600;

/**
 * Plays one turn to its end, by `POST /v1/chat/completions`. What the model says and does comes with the events of the
 * session (`session-feed`).
 *
 * @throws ApiError for a turn that was refused or has failed; the reason of the signal.
 */
export async function playTurn(turn: Turn, { signal, onSession }: TurnOptions): Promise<void> {
  const { sessionId, message, ...start } = turn;
  const response = await post(sessionId, { ...start, messages: toMessages(message) }, signal);
  const id = response.headers.get('x-svc-session-id');
  if (id !== null) onSession(id);
  if (!response.ok || response.body === null) throw await toApiError(response);
  try {
    for await (const data of readEventData(response.body)) {
      if (data === '[DONE]') return;
      const { error } = JSON.parse(data);
      if (error !== undefined)
        throw new ApiError(error.code, error.message, { param: error.param }, { ...error, status: response.status });
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof ApiError ? error : connectionLost('The connection was lost.', error);
  }
  throw connectionLost('The connection ended before the answer.');
}

export function readScenarios(signal: AbortSignal): Promise<{ readonly scenarios: readonly ScenarioEntry[] }> {
  return connection.json({ method: 'GET', path: '/scenarios', isRepeatable: true, signal });
}

export function readSession(id: string, signal: AbortSignal): Promise<SessionEntry> {
  return connection.json({ method: 'GET', path: pathOf(id), isRepeatable: true, signal });
}

/** Has a session evaluated. Without an answer the last text of the model is submitted. */
export function finishSession(id: string, answer: unknown): Promise<FinishedSession> {
  return connection.json({
    method: 'POST',
    path: `${pathOf(id)}/finish`,
    body: answer === undefined ? {} : { answer },
    isRepeatable: false,
    waitSeconds: EVALUATION_SECONDS,
  });
}

export function abandonSession(id: string): Promise<SessionEntry> {
  return connection.json({ method: 'DELETE', path: pathOf(id), isRepeatable: false });
}

async function post(sessionId: string | undefined, fields: object, signal: AbortSignal): Promise<Response> {
  const body = { ...fields, stream: true, stream_options: { svc_events: true } };
  try {
    return await fetchAsPage('/v1/chat/completions', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(sessionId === undefined ? {} : { 'x-svc-session-id': sessionId }),
      },
      body: JSON.stringify(body),
      signal,
    });
  } catch (cause) {
    signal.throwIfAborted();
    throw connectionLost('The server cannot be reached: is it still running?', cause);
  }
}

/** A request needs a message. One of the assistant adds nothing to a first turn. */
function toMessages(message: string) {
  return message.trim() === '' ? [{ role: 'assistant', content: '' }] : [{ role: 'user', content: message }];
}

function pathOf(id: string): string {
  return `/v1/sessions/${encodeURIComponent(id)}`;
}

function connectionLost(message: string, cause?: unknown): ApiError {
  return new ApiError('connection_failed', message, { cause });
}
