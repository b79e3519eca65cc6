import type { Logger } from 'pino';
import type { Idempotency } from '../accounts/idempotency.ts';
import { type ChatRequest, chatRequestSchema, samplingOf } from '../contract/chat-completions.ts';
import { ApiError } from '../contract/errors.ts';
import type { PromptMessage } from '../contract/scenario.ts';
import { accountOf } from '../http/api-keys.ts';
import { toApiError } from '../http/errors.ts';
import { defineRoute, type Route, type RouteReply, type RouteRequest } from '../http/route.ts';
import { type ChatCompletion, createReplyHead, type ReplyHead, toCompletion } from './chat-completion.ts';
import { type ChatFraming, plainFraming, streamFraming, toKeptReply } from './chat-framing.ts';
import {
  firstMessages,
  type NamedSession,
  nextMessages,
  refuseChanges,
  refuseUnsupported,
  sessionIdOf,
  startOf,
} from './chat-request.ts';
import { type ChatSession, TURN_LIMIT_MS } from './chat-session.ts';
import type { SessionRegistry } from './session-registry.ts';
import { toSvc, withSession } from './svc.ts';

const KEEP_ALIVE_MS = 10_000;

export interface ChatRouteOptions {
  readonly registry: SessionRegistry;
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
    return await this.#answer(request, session, nextMessages(body.messages)).reply;
  }

  /** @throws ApiError session_not_found with the field that names it, session_finished. */
  async #find(account: string, { id, param }: NamedSession): Promise<ChatSession> {
    try {
      return await this.#options.registry.find(account, id);
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || thrown.code !== 'session_not_found') throw thrown;
      throw new ApiError(thrown.code, thrown.message, { param, cause: thrown });
    }
  }

  /** With an idempotency key: the answer of an earlier request with it, or a new one, which is streamed as it comes. */
  async #start(request: Incoming): Promise<RouteReply> {
    const { idempotency, registry } = this.#options;
    const { body, headers, caller } = request;
    const { scenario, args } = startOf(body);
    const messages = firstMessages(body.messages);
    const account = accountOf(caller);
    const { model, max_steps: maxSteps } = body;
    const begin = () => registry.start({ account, scenario, args, model, maxSteps, sampling: samplingOf(body) });
    const key = headers['idempotency-key'];
    if (typeof key !== 'string') return await this.#answer(request, await begin(), messages).reply;
    return await new Promise<RouteReply>((resolve, reject) => {
      idempotency
        .answer({ account, key }, body, async (keep) => {
          const { reply, completion } = this.#answer(request, await begin(), messages, keep);
          reply.then(resolve, reject);
          return await completion;
        })
        .then(({ answer, isNew }) => {
          if (!isNew) resolve(toKeptReply(body, answer));
        })
        .catch(reject);
    });
  }

  /** A turn and its reply, in the form that the request asks for. */
  #answer(request: Incoming, session: ChatSession, messages: readonly PromptMessage[], keep?: Keep): Answer {
    const { limitMs: limits = TURN_LIMIT_MS, keepAliveMs = KEEP_ALIVE_MS, logger, now } = this.#options;
    const head = createReplyHead(session.options.model, now());
    const framing =
      request.body.stream === true
        ? streamFraming({ head, session, request, limitMs: limits.streamed, keepAliveMs, logger })
        : plainFraming(limits.plain);
    const completion = this.#complete(request, session, messages, { ...framing, head, keep });
    return { completion, reply: framing.toReply(completion) };
  }

  /** @throws ApiError with the session's headers */
  async #complete(
    { body, signal, requestId }: Incoming,
    session: ChatSession,
    messages: readonly PromptMessage[],
    { head, keep, limitMs, onDelta, onEvent }: CompleteOptions,
  ): Promise<ChatCompletion> {
    try {
      const sampling = samplingOf(body);
      const turn = await session.turn(messages, { signal, limitMs, sampling, onDelta, onEvent });
      const completion = toCompletion(head, turn, toSvc(session, this.#options.toTraceUrl));
      await keep?.(completion);
      return completion;
    } catch (thrown) {
      throw withSession(toApiError(thrown, requestId), session);
    }
  }
}

/** Has an answer written before its client can have it. */
type Keep = (completion: ChatCompletion) => Promise<void>;

interface CompleteOptions extends Pick<ChatFraming, 'limitMs' | 'onDelta' | 'onEvent'> {
  readonly head: ReplyHead;
  readonly keep: Keep | undefined;
}

interface Answer {
  readonly completion: Promise<ChatCompletion>;
  readonly reply: Promise<RouteReply>;
}
