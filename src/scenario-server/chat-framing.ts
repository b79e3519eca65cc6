import type { Logger } from 'pino';
import type { ChatRequest } from '../contract/chat-completions.ts';
import { toApiError } from '../http/errors.ts';
import type { RouteReply } from '../http/route.ts';
import type { ChatCompletion, ReplyHead } from './chat-completion.ts';
import type { ChatSession, ChatTurnOptions } from './chat-session.ts';
import { ChatStream } from './chat-stream.ts';
import { logFailure } from './log-failure.ts';
import { sessionHeaders } from './svc.ts';

/** The form in which the answer of a turn gets to its client. */
export interface ChatFraming extends Pick<ChatTurnOptions, 'limitMs' | 'onDelta' | 'onEvent'> {
  /** The reply, as soon as there is something to send. */
  toReply(completion: Promise<ChatCompletion>): Promise<RouteReply>;
}

/** One JSON body, when the turn has ended. */
export function plainFraming(limitMs: number): ChatFraming {
  return { limitMs, toReply: async (completion) => toPlainReply(await completion) };
}

export interface StreamFramingOptions {
  readonly head: ReplyHead;
  readonly session: ChatSession;
  readonly request: { readonly body: ChatRequest; readonly requestId: string; readonly signal: AbortSignal };
  readonly limitMs: number;
  /** Milliseconds between comments, and that headers are held so that an early failure can still be a JSON error. */
  readonly keepAliveMs: number;
  readonly logger: Logger;
}

/** Server-sent events, as the turn goes on. */
export function streamFraming({ head, session, request, limitMs, ...options }: StreamFramingOptions): ChatFraming {
  const { body, requestId, signal } = request;
  const stream = new ChatStream({
    head,
    sessionId: session.id,
    includeUsage: body.stream_options?.include_usage === true,
    hasEvents: body.stream_options?.svc_events === true,
  });
  // Headers are held while a refusal can still be the status of the reply.
  const keepAlive = setInterval(() => session.isWaiting || stream.keepAlive(), options.keepAliveMs);
  const fail = (error: unknown) => {
    // Nothing was sent: the failure is an answer of its own.
    if (!stream.hasBegun) throw error;
    const failure = toApiError(error, requestId);
    // A turn that its client gave up did not fail.
    if (!signal.aborted) logFailure(options.logger, failure, { requestId });
    stream.fail(failure);
  };
  return {
    limitMs,
    onDelta(delta) {
      stream.delta(delta);
      // Its connection is closed, which aborts the turn as if the client had gone away.
      if (stream.text.isOverfull) stream.text.cut();
    },
    onEvent: (event) => stream.event(event),
    async toReply(completion) {
      const ended = completion.finally(() => clearInterval(keepAlive)).then((answer) => stream.finish(answer), fail);
      await Promise.race([stream.begun, ended]);
      return { headers: { ...STREAM_HEADERS, ...sessionHeaders(session) }, stream: stream.text };
    },
  };
}

/** An answer that was kept, as a reply of the form that its request asks for: streamed, it is one delta. */
export function toKeptReply(
  { stream: isStreamed, stream_options: options }: ChatRequest,
  kept: ChatCompletion,
): RouteReply {
  const { id, created, model, svc } = kept;
  if (isStreamed !== true) return toPlainReply(kept);
  const stream = new ChatStream({
    head: { id, created, model },
    sessionId: svc.session_id,
    includeUsage: options?.include_usage === true,
    hasEvents: false,
  });
  stream.delta({ content: kept.choices[0].message.content });
  stream.finish(kept);
  return { headers: { ...STREAM_HEADERS, ...toPlainReply(kept).headers }, stream: stream.text };
}

function toPlainReply(completion: ChatCompletion): RouteReply {
  const { session_id, trace_id } = completion.svc;
  return { headers: { 'x-svc-session-id': session_id, 'x-svc-trace-id': trace_id }, body: completion };
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;
