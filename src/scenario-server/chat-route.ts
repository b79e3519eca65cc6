import type { Logger } from 'pino';
import type { Idempotency } from '../accounts/idempotency.ts';
import { type ChatRequest, chatRequestSchema, samplingOf } from '../contract/chat-completions.ts';
import { ApiError } from '../contract/errors.ts';
import type { PromptMessage } from '../contract/scenario.ts';
import { accountOf } from '../http/api-keys.ts';
import { toApiError } from '../http/errors.ts';
import { defineRoute, type Route, type RouteReply, type RouteRequest } from '../http/route.ts';
import type { ChatSession } from '../rollout/chat-session.ts';
import { type ChatCompletion, createReplyHead, type ReplyHead, toCompletion } from './chat-completion.ts';
import {
  firstMessages,
  type NamedSession,
  nextMessages,
  refuseChanges,
  refuseUnsupported,
  sessionIdOf,
  startOf,
} from './chat-request.ts';
import { ChatStream } from './chat-stream.ts';
import { logFailure } from './log-failure.ts';
import { type PlayOptions, playTurn, sessionHeaders, TURN_LIMIT_MS, toSvc, withSession } from './play-turn.ts';
import type { SessionRegistry } from './session-registry.ts';
import type { SessionStarter } from './session-starter.ts';

/** Milliseconds between comments, and that headers are held so that an early failure can still be a JSON error. */
const KEEP_ALIVE_MS = 10_000;

export interface ChatRouteOptions {
  readonly registry: SessionRegistry;
  readonly starter: SessionStarter;
  readonly idempotency: Idempotency<ChatCompletion>;
  readonly logger: Logger;
  toTraceUrl(traceId: string): string;
  readonly keepAliveMs?: number | undefined;
  readonly limitMs?: { readonly plain: number; readonly streamed: number } | undefined;
  readonly now: () => number;
}

/** `POST /v1/chat/completions`: starts a session, or continues one, as any OpenAI-style client speaks. */
export function createChatRoute(options: ChatRouteOptions): Route {
  const chat = new Chat(options);
  return defineRoute({
    method: 'POST',
    path: '/v1/chat/completions',
    summary: 'Start a session with a scenario, or continue one',
    access: 'key-or-browser',
    request: chatRequestSchema,
    handle: (request) => chat.handle(request),
  });
}

type Incoming = RouteRequest<ChatRequest>;

class Chat {
  readonly #options: ChatRouteOptions;

  constructor(options: ChatRouteOptions) {
    this.#options = options;
  }

  async handle(request: Incoming): Promise<RouteReply> {
    const { body, headers } = request;
    const named = sessionIdOf(headers, body);
    refuseUnsupported(body);
    if (named === undefined) return await this.#start(request);
    const session = await this.#find(accountOf(request.caller), named);
    refuseChanges(session, body);
    return await this.#answer(request, session, nextMessages(body.messages));
  }

  /** @throws ApiError session_not_found with the field that names it, session_finished. */
  async #find(account: string, { id, param }: NamedSession): Promise<ChatSession> {
    try {
      return await this.#options.registry.of(account).find(id);
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || thrown.code !== 'session_not_found') throw thrown;
      throw new ApiError(thrown.code, thrown.message, { param, cause: thrown });
    }
  }

  async #start(request: Incoming): Promise<RouteReply> {
    const { body, headers } = request;
    const { scenario, args } = startOf(body);
    const messages = firstMessages(body.messages);
    const begin = () =>
      this.#options.starter.start({
        account: accountOf(request.caller),
        scenario,
        args,
        model: body.model,
        maxSteps: body.max_steps,
        sampling: samplingOf(body),
      });
    const key = headers['idempotency-key'];
    if (typeof key !== 'string') return await this.#answer(request, await begin(), messages);
    return await this.#answerOnce(request, key, begin, messages);
  }

  /** The answer of an earlier request with this key, or a new one, which is streamed as it comes. */
  async #answerOnce(
    request: Incoming,
    key: string,
    begin: () => Promise<ChatSession>,
    messages: readonly PromptMessage[],
  ): Promise<RouteReply> {
    const { idempotency } = this.#options;
    const account = accountOf(request.caller);
    return await new Promise<RouteReply>((resolve, reject) => {
      idempotency
        .answer({ account, key }, request.body, async (keep) => {
          const { reply, completion } = this.#play(request, await begin(), messages, keep);
          reply.then(resolve, reject);
          return await completion;
        })
        .then(({ answer, isNew }) => {
          if (!isNew) resolve(request.body.stream === true ? toStreamReply(request.body, answer) : toReply(answer));
        })
        .catch(reject);
    });
  }

  async #answer(request: Incoming, session: ChatSession, messages: readonly PromptMessage[]): Promise<RouteReply> {
    const { reply, completion } = this.#play(request, session, messages);
    completion.catch(() => {}); // The reply says it.
    return await reply;
  }

  /** `keep` has an answer written before its client can have it. */
  #play(
    request: Incoming,
    session: ChatSession,
    messages: readonly PromptMessage[],
    keep: Keep = async () => {},
  ): Play {
    return request.body.stream === true
      ? this.#stream(request, session, messages, keep)
      : this.#plain(request, session, messages, keep);
  }

  #plain(request: Incoming, session: ChatSession, messages: readonly PromptMessage[], keep: Keep): Play {
    const { limitMs: limits = TURN_LIMIT_MS, now } = this.#options;
    const head = createReplyHead(session.options.model, now());
    const completion = this.#complete(request, session, messages, { head, keep, limitMs: limits.plain });
    return { completion, reply: completion.then(toReply) };
  }

  #stream(request: Incoming, session: ChatSession, messages: readonly PromptMessage[], keep: Keep): Play {
    const { limitMs: limits = TURN_LIMIT_MS, keepAliveMs = KEEP_ALIVE_MS, logger, now } = this.#options;
    const options = request.body.stream_options;
    const head = createReplyHead(session.options.model, now());
    const stream = new ChatStream({
      head,
      sessionId: session.id,
      includeUsage: options?.include_usage === true,
      hasEvents: options?.svc_events === true,
    });
    const keepAlive = setInterval(() => stream.keepAlive(), keepAliveMs);
    const completion = this.#complete(request, session, messages, {
      head,
      keep,
      limitMs: limits.streamed,
      onDelta: (delta) => {
        stream.delta(delta);
        // Its connection is closed, which aborts the turn as if the client had gone away.
        if (stream.text.isOverfull) stream.text.cut();
      },
      onEvent: (event) => stream.event(event),
    }).finally(() => clearInterval(keepAlive));
    const reply = { headers: { ...STREAM_HEADERS, ...sessionHeaders(session) }, stream: stream.text };
    const ended = completion.then(
      (answer) => stream.finish(answer),
      (error: unknown) => {
        // Nothing was sent: the failure is an answer of its own.
        if (!stream.hasBegun) throw error;
        const { requestId, signal } = request;
        const failure = toApiError(error, requestId);
        // A turn that its client gave up did not fail.
        if (!signal.aborted) logFailure(logger, failure, { requestId });
        stream.fail(failure);
      },
    );
    return { completion, reply: Promise.race([stream.begun, ended]).then(() => reply) };
  }

  /** @throws ApiError with the session's headers */
  async #complete(
    { body, signal, requestId }: Incoming,
    session: ChatSession,
    messages: readonly PromptMessage[],
    { head, keep, ...options }: CompleteOptions,
  ): Promise<ChatCompletion> {
    const { registry, toTraceUrl } = this.#options;
    try {
      const played = await playTurn(registry, session, messages, {
        ...options,
        sampling: samplingOf(body),
        signal,
      });
      const completion = toCompletion(head, played, toSvc(session, toTraceUrl));
      await keep(completion);
      return completion;
    } catch (thrown) {
      throw withSession(toApiError(thrown, requestId), session);
    }
  }
}

type Keep = (completion: ChatCompletion) => Promise<void>;

interface CompleteOptions extends Omit<PlayOptions, 'signal'> {
  readonly head: ReplyHead;
  readonly keep: Keep;
}

interface Play {
  readonly completion: Promise<ChatCompletion>;
  readonly reply: Promise<RouteReply>;
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
} as const;

function toReply(completion: ChatCompletion): RouteReply {
  const { session_id, trace_id } = completion.svc;
  return { headers: { 'x-svc-session-id': session_id, 'x-svc-trace-id': trace_id }, body: completion };
}

/** A kept answer as a stream: one delta, the finish chunk and `[DONE]`. */
function toStreamReply({ stream_options: options }: ChatRequest, completion: ChatCompletion): RouteReply {
  const { id, created, model, svc } = completion;
  const stream = new ChatStream({
    head: { id, created, model },
    sessionId: svc.session_id,
    includeUsage: options?.include_usage === true,
    hasEvents: false,
  });
  stream.delta({ content: completion.choices[0].message.content });
  stream.finish(completion);
  return { headers: { ...STREAM_HEADERS, ...toReply(completion).headers }, stream: stream.text };
}
