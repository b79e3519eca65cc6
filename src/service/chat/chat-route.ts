import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { chatRequestSchema, type TurnFields } from '../../contract/chat-completions.ts';
import { ApiError } from '../../contract/errors.ts';
import type { PromptMessage } from '../../contract/scenario.ts';
import { geminiRequestSchema, messagesRequestSchema, responsesRequestSchema } from '../../contract/turn-requests.ts';
import { type Dialect, type DialectName, type ReplyHead, toDialectError } from '../../models/dialects/dialect.ts';
import { DIALECTS } from '../../models/dialects/dialects.ts';
import type { Idempotency } from '../../store/accounts/idempotency.ts';
import { accountOf } from '../../support/http/api/api-keys.ts';
import { toApiError } from '../../support/http/api/errors.ts';
import { defineRoute, type Route, type RouteReply, type RouteRequest } from '../../support/http/api/route.ts';
import { PERIODS_MS } from '../../support/runtime/periods.ts';
import { type TurnReply, toTurnReply } from './answered-turn.ts';
import { type ChatFraming, plainFraming, streamFraming, toKeptReply } from './chat-framing.ts';
import {
  firstMessages,
  type NamedSession,
  nextMessages,
  readTurn,
  refuseChanges,
  startOf,
  type TurnRequest,
} from './chat-request.ts';
import { type ChatSession, TURN_LIMIT_MS } from './chat-session.ts';
import type { SessionRegistry } from './session-registry.ts';
import { toSvc, withSession } from './svc.ts';

export interface ChatRouteOptions {
  readonly registry: SessionRegistry;
  readonly idempotency: Idempotency<TurnReply>;
  readonly logger: Logger;
  toTraceUrl(traceId: string): string;
  readonly keepAliveMs?: number | undefined;
  readonly limitMs?: { readonly plain: number; readonly streamed: number } | undefined;
  readonly now: () => number;
}

/** Routes for turns, one for each supported protocol. All of them start and continue sessions. */
export function createChatRoutes(options: ChatRouteOptions): readonly Route[] {
  const chat = new Chat(options);
  return PROTOCOLS.map(({ dialect: name, path, by, schema, ...keys }) => {
    const dialect = DIALECTS[name];
    return defineRoute<z.ZodType<TurnFields>>({
      method: 'POST',
      path,
      summary: `Start a session with a scenario, or continue one, by ${by}`,
      access: 'key-or-browser',
      request: schema,
      protocol: { ...keys, toErrorReply: (error) => dialect.writeError(toDialectError(error)) },
      handle: (request) => chat.handle(request, dialect),
    });
  });
}

interface ChatProtocol {
  readonly dialect: DialectName;
  readonly path: string;
  readonly by: string;
  readonly schema: z.ZodType<TurnFields>;
  readonly keyHeader?: string;
  readonly keyQuery?: string;
}

const PROTOCOLS: readonly ChatProtocol[] = [
  {
    dialect: 'chat',
    path: '/v1/chat/completions',
    by: 'OpenAI chat completions',
    schema: chatRequestSchema,
  },
  { dialect: 'responses', path: '/v1/responses', by: 'OpenAI Responses', schema: responsesRequestSchema },
  {
    dialect: 'messages',
    path: '/v1/messages',
    by: 'Anthropic Messages',
    schema: messagesRequestSchema,
    keyHeader: 'x-api-key',
  },
  {
    dialect: 'gemini',
    // A wildcard, since names of models may contain a slash.
    path: '/v1beta/models/*operation',
    by: 'Gemini: `<model>:generateContent` or `<model>:streamGenerateContent`',
    schema: geminiRequestSchema,
    keyHeader: 'x-goog-api-key',
    keyQuery: 'key',
  },
];

type Incoming = RouteRequest<TurnFields>;

class Chat {
  readonly #options: ChatRouteOptions;

  constructor(options: ChatRouteOptions) {
    this.#options = options;
  }

  async handle(request: Incoming, dialect: Dialect): Promise<RouteReply> {
    const turn = readTurn(dialect, request);
    if (turn.session === undefined) return await this.#start(request, turn);
    const session = await this.#find(accountOf(request.caller), turn.session);
    refuseChanges(session, turn.fields);
    return await this.#answer(request, { turn, session, messages: nextMessages(turn.read) }).reply;
  }

  /** @throws ApiError session_finished; session_not_found with the field that names the session. */
  async #find(account: string, { id, param }: NamedSession): Promise<ChatSession> {
    try {
      return await this.#options.registry.find(account, id);
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || thrown.code !== 'session_not_found') throw thrown;
      throw new ApiError(thrown.code, thrown.message, { param, cause: thrown });
    }
  }

  /** Starts a session. A repeated idempotency key gets the answer of the first request with that key. */
  async #start(request: Incoming, turn: TurnRequest): Promise<RouteReply> {
    const { idempotency, registry } = this.#options;
    const { body, headers, caller, path } = request;
    const { fields, read, sampling } = turn;
    const { scenario, args } = startOf(fields);
    const messages = firstMessages(read);
    const account = accountOf(caller);
    const { model, max_steps: maxSteps } = fields;
    const begin = () => registry.start({ account, scenario, args, model, maxSteps, sampling });
    const key = headers['idempotency-key'];
    if (typeof key !== 'string') return await this.#answer(request, { turn, session: await begin(), messages }).reply;
    return await new Promise<RouteReply>((resolve, reject) => {
      idempotency
        .answer({ account, key }, { path, body }, async (keep) => {
          const { reply, answer } = this.#answer(request, { turn, session: await begin(), messages, keep });
          reply.then(resolve, reject);
          return await answer;
        })
        .then(({ answer, isNew }) => {
          if (!isNew) resolve(toKeptReply(turn, answer));
        })
        .catch(reject);
    });
  }

  /** Plays a turn and frames its reply as the request asks. */
  #answer(request: Incoming, playing: Playing): Answer {
    const { limitMs: limits = TURN_LIMIT_MS, keepAliveMs = PERIODS_MS.keepAlive, logger, now } = this.#options;
    const { turn, session } = playing;
    const head = { id: randomBytes(12).toString('hex'), createdAt: now(), model: session.options.model };
    const framing = turn.read.isStreamed
      ? streamFraming({ head, session, turn, request, limitMs: limits.streamed, keepAliveMs, logger })
      : plainFraming(turn, limits.plain);
    const answer = this.#play(request, playing, { ...framing, head });
    return { answer, reply: framing.toReply(answer) };
  }

  /** @throws ApiError with the headers of the session. */
  async #play(
    { signal, requestId }: Incoming,
    { turn, session, messages, keep }: Playing,
    { head, limitMs, onDelta, onEvent }: PlayOptions,
  ): Promise<TurnReply> {
    try {
      const { sampling } = turn;
      const answered = await session.turn(messages, { signal, limitMs, sampling, onDelta, onEvent });
      const answer = toTurnReply(head, answered, toSvc(session, this.#options.toTraceUrl));
      await keep?.(answer);
      return answer;
    } catch (thrown) {
      throw withSession(toApiError(thrown, requestId), session);
    }
  }
}

interface Playing {
  readonly turn: TurnRequest;
  readonly session: ChatSession;
  readonly messages: readonly PromptMessage[];
  /** Stores an answer before the client receives it. */
  readonly keep?: (answer: TurnReply) => Promise<void>;
}

interface PlayOptions extends Pick<ChatFraming, 'limitMs' | 'onDelta' | 'onEvent'> {
  readonly head: ReplyHead;
}

interface Answer {
  readonly answer: Promise<TurnReply>;
  readonly reply: Promise<RouteReply>;
}
