import type { ToolCall, Usage } from '../contract/chat.ts';
import { ApiError } from '../contract/errors.ts';
import type { EventBody } from '../contract/event.ts';
import type { JsonObject } from '../contract/json.ts';
import type { PromptMessage } from '../contract/scenario.ts';
import { type Svc, toSessionIds } from '../contract/session.ts';
import { sumUsage } from '../contract/usage.ts';
import type { ModelDelta, ModelResponse } from '../model/chat-model.ts';
import type { ChatSession } from '../rollout/chat-session.ts';
import type { SessionRegistry } from './session-registry.ts';

export interface PlayOptions {
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  /** Milliseconds for the whole turn. */
  readonly limitMs: number;
  readonly sampling?: JsonObject;
  readonly onDelta?: (delta: ModelDelta) => void;
  readonly onEvent?: (event: EventBody) => void;
}

/** A turn that was answered. */
export interface PlayedTurn {
  /** All text of its responses, joined by a blank line. */
  readonly text: string;
  /** Text of the last response, or "". */
  readonly answer: string;
  readonly refusal: string | null;
  readonly finishReason: 'stop' | 'length' | 'content_filter';
  readonly toolCalls: readonly ToolCall[];
  readonly usage: Usage;
}

/**
 * Runs one turn of a session, and starts the clock of its expiry anew.
 *
 * @throws ApiError turn_timeout, session_busy, session_finished, or what the gateway or the environment failed with,
 *   named by the session; the reason of the signal.
 */
export async function playTurn(
  registry: SessionRegistry,
  session: ChatSession,
  messages: readonly PromptMessage[],
  options: PlayOptions,
): Promise<PlayedTurn> {
  const { signal, limitMs, ...rest } = options;
  const timeUp = new AbortController();
  const isFirst = session.turns === 0;
  const timer = setTimeout(() => timeUp.abort(turnTimeout(limitMs, isFirst)), limitMs);
  timer.unref();
  try {
    const result = await session.turn(messages, { ...rest, signal: AbortSignal.any([signal, timeUp.signal]) });
    if (result.status === 'failed') throw result.error;
    if (result.status === 'aborted') throw result.reason;
    return toPlayedTurn(result.responses, result.status === 'max_steps');
  } finally {
    clearTimeout(timer);
    registry.touch(session);
  }
}

function toPlayedTurn(responses: readonly ModelResponse[], isExhausted: boolean): PlayedTurn {
  const last = responses.at(-1);
  const texts = responses.map(({ message }) => message.content ?? '').filter((text) => text !== '');
  const reason = last?.finishReason;
  return {
    text: texts.join(TEXT_SEPARATOR),
    answer: last?.message.content ?? '',
    refusal: last?.message.refusal ?? null,
    finishReason: isExhausted || reason === 'length' ? 'length' : reason === 'content_filter' ? reason : 'stop',
    toolCalls: responses.flatMap(({ message }) => message.tool_calls),
    usage: sumUsage(responses.map(({ usage }) => usage)),
  };
}

/** Between the texts of the responses of one turn. */
export const TEXT_SEPARATOR = '\n\n';

/** `svc` of a reply. */
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

/** Headers by which a client knows the session and its trace before it has read the body, of a failure too. */
export function sessionHeaders({ id, traceId }: ChatSession): Readonly<Record<string, string>> {
  return { 'x-svc-session-id': id, 'x-svc-trace-id': traceId };
}

/** The same error, by which a client can tell what session it is about. */
export function withSession(error: ApiError, session: ChatSession): ApiError {
  const { code, message, param, cause } = error;
  return new ApiError(code, message, { param, headers: { ...sessionHeaders(session), ...error.headers }, cause });
}

/** A client that stopped reading: its turn is not worth going on with. */
export function clientTooSlow(): ApiError {
  const message = 'The client did not take what was streamed to it. The completed steps of the turn are kept.';
  return new ApiError('turn_timeout', message);
}

function turnTimeout(limitMs: number, isFirst: boolean): ApiError {
  const limit = limitMs < 1_000 ? `${limitMs} ms` : `${Math.round(limitMs / 1_000)} s`;
  const wayOut = isFirst
    ? 'Its session has failed with it, since it was the first: start a new one, streamed where it takes long.'
    : 'Its completed steps are kept: send the same messages again to go on.';
  return new ApiError('turn_timeout', `The turn did not end within ${limit}. ${wayOut}`);
}
