import type { Logger } from 'pino';
import { isJsonObject } from '../../contract/json.ts';
import type { Svc } from '../../contract/session.ts';
import type { DialectStream, ReplyHead } from '../../models/dialects/dialect.ts';
import { toApiError } from '../../support/http/api/errors.ts';
import type { RouteReply } from '../../support/http/api/route.ts';
import { startKeepAlive } from '../../support/runtime/keep-alive.ts';
import type { TurnReply } from './answered-turn.ts';
import type { TurnRequest } from './chat-request.ts';
import type { ChatSession, ChatTurnOptions } from './chat-session.ts';
import { ChatStream } from './chat-stream.ts';
import { logFailure } from './log-failure.ts';
import { sessionHeaders } from './svc.ts';

/** Sends the answer of a turn to its client, as one body or as a stream. */
export interface ChatFraming extends Pick<ChatTurnOptions, 'limitMs' | 'onDelta' | 'onEvent'> {
  /** Resolves with the reply as soon as there is something to send. */
  toReply(answer: Promise<TurnReply>): Promise<RouteReply>;
}

/** Sends one JSON body at the end of the turn. */
export function plainFraming(turn: TurnRequest, limitMs: number): ChatFraming {
  return { limitMs, toReply: async (answer) => toPlainReply(turn, await answer) };
}

export interface StreamFramingOptions {
  readonly head: ReplyHead;
  readonly session: ChatSession;
  readonly turn: TurnRequest;
  readonly request: { readonly requestId: string; readonly signal: AbortSignal };
  readonly limitMs: number;
  /**
   * Milliseconds between two comments. For the first such period the headers wait, so that an early error is a JSON
   * reply.
   */
  readonly keepAliveMs: number;
  readonly logger: Logger;
}

/** Sends server-sent events while the turn runs. */
export function streamFraming({
  head,
  session,
  turn,
  request,
  limitMs,
  ...options
}: StreamFramingOptions): ChatFraming {
  const { requestId, signal } = request;
  const stream = new ChatStream({
    stream: createStream(turn, head, { session_id: session.id }),
    sessionId: session.id,
    hasEvents: wantsEvents(turn),
  });
  // No comment while the session waits for a process: the error of that wait is still a JSON reply.
  const keepAlive = startKeepAlive(() => session.isWaiting || stream.keepAlive(), options.keepAliveMs);
  const fail = (error: unknown) => {
    // Nothing was sent yet, so the failure gets a reply of its own.
    if (!stream.hasBegun) throw error;
    const failure = toApiError(error, requestId);
    // A turn that its client aborted did not fail.
    if (!signal.aborted) logFailure(options.logger, failure, { requestId });
    stream.fail(failure);
  };
  return {
    limitMs,
    onDelta(delta) {
      stream.delta(delta);
      // The client reads too slowly. Closing the connection aborts the turn, as if the client had disconnected.
      if (stream.text.isOverfull) stream.text.cut();
    },
    onEvent: (event) => stream.event(event),
    async toReply(answer) {
      const ended = answer.finally(() => keepAlive.stop()).then((reply) => stream.finish(reply), fail);
      await Promise.race([stream.begun, ended]);
      return { headers: { ...STREAM_HEADERS, ...sessionHeaders(session) }, stream: stream.text };
    },
  };
}

/** Sends a stored answer in the form that the request asks for. A stream has it in one delta. */
export function toKeptReply(turn: TurnRequest, kept: TurnReply): RouteReply {
  const plain = toPlainReply(turn, kept);
  if (!turn.read.isStreamed) return plain;
  const { session_id } = kept.svc;
  const stream = new ChatStream({
    stream: createStream(turn, kept.head, { session_id }),
    sessionId: session_id,
    hasEvents: false,
  });
  stream.finish(kept);
  return { headers: { ...STREAM_HEADERS, ...plain.headers }, stream: stream.text };
}

function toPlainReply({ dialect, read }: TurnRequest, { head, output, svc }: TurnReply): RouteReply {
  const { session_id, trace_id } = svc;
  return {
    headers: { 'x-svc-session-id': session_id, 'x-svc-trace-id': trace_id },
    body: dialect.writeResponse(read, output, { ...head, extra: { svc: { ...svc } } }),
  };
}

function createStream({ dialect, read }: TurnRequest, head: ReplyHead, svc: Pick<Svc, 'session_id'>): DialectStream {
  return dialect.createStream(read, { ...head, extra: { svc: { ...svc } } });
}

function wantsEvents({ fields }: TurnRequest): boolean {
  return isJsonObject(fields.stream_options) && fields.stream_options.svc_events === true;
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;
