import type { ToolCall, Usage } from '../contract/chat.ts';
import { ApiError } from '../contract/errors.ts';
import type { EventBody } from '../contract/event.ts';
import type { JsonObject } from '../contract/json.ts';
import type { PromptMessage } from '../contract/scenario.ts';
import { type Svc, toSessionIds } from '../contract/session.ts';
import { sumUsage } from '../contract/usage.ts';
import type { ModelDelta, ModelResponse } from '../model/chat-model.ts';
import type { ChatSession } from '../rollout/chat-session.ts';
import { startDeadline } from '../runtime/deadline.ts';
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
 * Milliseconds that a turn may take. A caller of a plain turn hears nothing before its end, and clients give up 300 s after
 * the request where no headers came.
 */
export const TURN_LIMIT_MS = { plain: 280_000, streamed: 3_600_000 } as const;

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
  const { signal, limitMs, onDelta, ...rest } = options;
  const isFirst = session.turns === 0;
  const deadline = startDeadline(limitMs, (limit) => turnTimeout(limit, isFirst));
  try {
    const result = await session.turn(messages, {
      ...rest,
      ...(onDelta === undefined ? {} : { onDelta: published(registry, session, onDelta) }),
      signal: AbortSignal.any([signal, deadline.signal]),
    });
    if (result.status === 'failed') throw result.error;
    if (result.status === 'aborted') throw result.reason;
    return toPlayedTurn(result.responses, result.status === 'max_steps');
  } finally {
    deadline.clear();
    registry.touch(session);
  }
}

/** Pages that follow the session see the text as its caller does. */
function published(
  { deltas }: SessionRegistry,
  { traceId }: ChatSession,
  onDelta: (delta: ModelDelta) => void,
): (delta: ModelDelta) => void {
  return (delta) => {
    deltas.publish(traceId, { attempt: 1, ...delta });
    onDelta(delta);
  };
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

function turnTimeout(limit: string, isFirst: boolean): ApiError {
  const wayOut = isFirst
    ? 'Its session has failed with it, since it was the first: start a new one, streamed where it takes long.'
    : 'Its completed steps are kept: send the same messages again to go on.';
  return new ApiError('turn_timeout', `The turn did not end within ${limit}. ${wayOut}`);
}
