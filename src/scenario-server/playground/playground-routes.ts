import type { Logger } from 'pino';
import { z } from 'zod';
import type { Accounts } from '../../accounts/accounts.ts';
import { csrfToken, isCsrfToken } from '../../accounts/csrf.ts';
import { readSessionCookie } from '../../accounts/session-cookie.ts';
import { ApiError } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { jsonObjectSchema } from '../../contract/json.ts';
import { MAX_STEPS } from '../../contract/names.ts';
import { toApiError } from '../../http/errors.ts';
import { defineRoute, type Route, type RouteReply, type RouteRequest } from '../../http/route.ts';
import type { Models } from '../../model/create-model.ts';
import type { ChatSession } from '../../rollout/chat-session.ts';
import type { TraceStore } from '../../trace/trace-store.ts';
import { createSignIn } from '../../web/sign-in.ts';
import { logFailure } from '../log-failure.ts';
import { playTurn } from '../play-turn.ts';
import type { Scenarios } from '../scenarios.ts';
import type { SessionRegistry } from '../session-registry.ts';
import { finishSession } from '../session-routes.ts';
import type { SessionStarter } from '../session-starter.ts';
import { readKeptSession } from './kept-session.ts';
import { playgroundReply } from './playground-page.ts';
import { TurnStream } from './turn-stream.ts';

export interface PlaygroundOptions {
  readonly accounts: Accounts;
  readonly scenarios: Scenarios;
  readonly registry: SessionRegistry;
  readonly starter: SessionStarter;
  readonly models: Models;
  /** Of sessions that name none. */
  readonly model: string;
  readonly store: TraceStore;
  readonly logger: Logger;
  toTraceUrl(traceId: string): string;
}

/** Milliseconds that a turn may take: as for a streamed chat reply. */
const TURN_LIMIT_MS = 3_600_000;
const KEEP_ALIVE_MS = 10_000;

const turnSchema = z.object({
  /** Of a session that goes on; without it a new one is started. */
  session_id: z.string().optional(),
  scenario: z.string().optional(),
  scenario_args: jsonObjectSchema.optional(),
  model: z.string().min(1).optional(),
  max_steps: z.int().min(1).max(MAX_STEPS.maximum).optional(),
  /** A first turn may do without: it plays the scenario's prompt alone. */
  message: z.string().optional(),
});
type TurnBody = z.output<typeof turnSchema>;

const finishSchema = z.object({ session_id: z.string(), answer: z.json().optional() });
const abandonSchema = z.object({ session_id: z.string() });

/**
 * The playground: a page at `/` on which a person holds sessions of the same registry as every other surface. Its data
 * is for signed-in browsers, and what changes something carries the page's CSRF token (contract section 4).
 */
export function createPlayground(options: PlaygroundOptions): readonly Route[] {
  const { accounts, scenarios, registry, models, model, toTraceUrl } = options;
  const signIn = createSignIn(accounts);
  const page: Route = {
    method: 'GET',
    path: '/',
    summary: 'The playground, as a page',
    access: 'page',
    handle: signIn.guard(async (_account, request) => {
      const session = readSessionCookie(request.headers.cookie);
      return playgroundReply(session === undefined ? '' : csrfToken(session));
    }, '/'),
  };
  const choices = defineRoute({
    method: 'GET',
    path: '/playground/choices',
    summary: 'What the playground lets choose from',
    access: 'page',
    async handle(request) {
      await visitorOf(accounts, request);
      const [entries, { data }] = await Promise.all([scenarios.list(), models.list(request.signal)]);
      const names = new Set([model, ...data.map(({ id }) => id)]);
      return { body: { scenarios: entries, models: [...names], model, max_steps: MAX_STEPS } };
    },
  });
  const kept = defineRoute({
    method: 'GET',
    path: '/playground/sessions/:session_id',
    summary: 'A session with its conversation, for a playground that is loaded anew',
    access: 'page',
    async handle(request) {
      const { account } = await visitorOf(accounts, request);
      const sessions = registry.of(account);
      return { body: await readKeptSession({ ...options, sessions }, request.params.session_id ?? '') };
    },
  });
  const turn = defineRoute({
    method: 'POST',
    path: '/playground/turn',
    summary: 'A turn, for the playground',
    access: 'page',
    request: turnSchema,
    async handle(request) {
      const account = await accountOfPage(accounts, request);
      const messages = messagesOf(request.body);
      return streamTurn(options, await findSession(options, account, request.body), messages, request);
    },
  });
  const finish = defineRoute({
    method: 'POST',
    path: '/playground/finish',
    summary: 'Finish a session, for the playground',
    access: 'page',
    request: finishSchema,
    async handle(request) {
      const sessions = registry.of(await accountOfPage(accounts, request));
      const { session_id, answer } = request.body;
      return { body: await finishSession(sessions, session_id, answer as Json | undefined, toTraceUrl) }; // It came as JSON.
    },
  });
  const abandon = defineRoute({
    method: 'POST',
    path: '/playground/abandon',
    summary: 'Abandon a session, for the playground',
    access: 'page',
    request: abandonSchema,
    async handle(request) {
      const sessions = registry.of(await accountOfPage(accounts, request));
      const session = await sessions.find(request.body.session_id);
      await session.abandon();
      return { body: { session_id: session.id, status: session.status } };
    },
  });
  return [page, choices, kept, turn, finish, abandon];
}

interface Visitor {
  readonly account: string;
  /** The browser's. */
  readonly session: string;
}

/** @throws ApiError invalid_api_key */
async function visitorOf(accounts: Accounts, { headers }: RouteRequest): Promise<Visitor> {
  const session = readSessionCookie(headers.cookie);
  const visitor = session === undefined ? undefined : await accounts.verifyBrowserSession(session);
  if (session !== undefined && visitor !== undefined) return { account: visitor.account, session };
  throw new ApiError('invalid_api_key', 'This browser is not signed in (any more): load the page again.');
}

/** @throws ApiError invalid_api_key, or forbidden for what does not come from the page of this very browser. */
async function accountOfPage(accounts: Accounts, request: RouteRequest): Promise<string> {
  const { account, session } = await visitorOf(accounts, request);
  const token = request.headers['x-csrf-token'];
  if (typeof token === 'string' && isCsrfToken(session, token)) return account;
  throw new ApiError('forbidden', 'The request does not carry the token of the page: load the page again.');
}

function messagesOf({ session_id, message = '' }: TurnBody): { readonly role: 'user'; readonly content: string }[] {
  if (message.trim() !== '') return [{ role: 'user', content: message }];
  if (session_id === undefined) return [];
  throw new ApiError('missing_required_parameter', 'A message is missing: write one.', { param: 'message' });
}

async function findSession(
  { registry, starter }: PlaygroundOptions,
  account: string,
  body: TurnBody,
): Promise<ChatSession> {
  if (body.session_id !== undefined) return await registry.of(account).find(body.session_id);
  if (body.scenario === undefined) {
    throw new ApiError('missing_required_parameter', 'A scenario is missing: choose one.', { param: 'scenario' });
  }
  return await starter.start({
    account,
    scenario: body.scenario,
    args: body.scenario_args ?? ({} satisfies JsonObject),
    model: body.model,
    maxSteps: body.max_steps,
    sampling: {},
  });
}

/** The turn goes on while the page reads: a page that is left, or that says stop, aborts it. */
function streamTurn(
  { registry, logger, toTraceUrl }: PlaygroundOptions,
  session: ChatSession,
  messages: Parameters<typeof playTurn>[2],
  { signal, requestId }: RouteRequest<TurnBody>,
): RouteReply {
  const stream = new TurnStream(session, toTraceUrl(session.traceId));
  const slow = new AbortController();
  const keepAlive = setInterval(() => stream.keepAlive(), KEEP_ALIVE_MS);
  playTurn(registry, session, messages, {
    signal: AbortSignal.any([signal, slow.signal]),
    limitMs: TURN_LIMIT_MS,
    onDelta: (delta) => {
      stream.delta(delta);
      if (stream.text.isOverfull) slow.abort(new Error('The page does not read'));
    },
    onEvent: (event) => stream.event(event),
  })
    .then(
      (played) => stream.finish(played),
      (thrown: unknown) => {
        const failure = toApiError(thrown, requestId);
        if (!signal.aborted && !slow.signal.aborted) logFailure(logger, failure, { requestId });
        stream.fail(failure);
      },
    )
    .finally(() => clearInterval(keepAlive));
  return {
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-accel-buffering': 'no' },
    stream: stream.text,
  };
}
