import type { IncomingHttpHeaders } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { TranscriptMessage } from '../../contract/chat.ts';
import { samplingSchema, type TurnFields } from '../../contract/chat-completions.ts';
import { ApiError } from '../../contract/errors.ts';
import { faultIn, type JsonObject } from '../../contract/json.ts';
import type { PromptMessage } from '../../contract/scenario.ts';
import type { Dialect, DialectRequest } from '../../models/dialects/dialect.ts';
import { findOperation } from '../../models/dialects/operations.ts';
import type { RouteRequest } from '../../support/http/api/route.ts';
import { parseBody } from '../../support/http/api/validation.ts';
import { preview } from '../../support/schema/json-schema.ts';
import type { ChatSession } from './chat-session.ts';

/** A request for a turn, parsed by the dialect of its route. */
export interface TurnRequest {
  readonly dialect: Dialect;
  readonly read: DialectRequest;
  /** Fields that Proctor adds to the protocol. */
  readonly fields: TurnFields;
  /** Fields that go to the gateway. */
  readonly sampling: JsonObject;
  /** The session to continue; undefined for a first turn. */
  readonly session: NamedSession | undefined;
}

/**
 * Parses a request with the dialect of its route.
 *
 * @throws ApiError invalid_parameter for a wrong or unsupported field; unknown_url for an unknown operation of Gemini;
 * errors of the dialect.
 */
export function readTurn(dialect: Dialect, request: RouteRequest<TurnFields>): TurnRequest {
  const { headers, query, path, body } = request;
  const { conversation, ...rest } = body;
  const session = sessionIdOf(headers, body, dialect.name === 'responses' ? conversation : undefined);
  refuseUnsupported(dialect, body);
  const operation = findOperation('POST', path, { headers, query });
  if (operation?.kind !== 'generate') {
    const message = `Unknown URL: POST ${path.slice(0, 200)}. A turn is asked for by generateContent or streamGenerateContent.`;
    throw new ApiError('unknown_url', message);
  }
  const read = dialect.readRequest({
    body: dialect.name === 'responses' ? rest : body,
    model: operation.model,
    isStreamed: operation.isStreamed,
  });
  refuseProviders(read);
  if (read.messages.length === 0) {
    const param = LISTS[dialect.name];
    throw new ApiError('invalid_parameter', `${param} has to be a list that is not empty.`, { param });
  }
  const sampling = dialect.toSampling(read);
  parseBody(samplingSchema, sampling);
  const fault = faultIn(sampling);
  if (fault !== undefined) {
    const param = fault.path.join('.');
    throw new ApiError('invalid_parameter', `${param} has to be ${fault.message}.`, { param });
  }
  const model = read.model ?? undefined;
  return { dialect, read, fields: { ...body, model }, sampling, session };
}

/** Header with the session id. It is read before the fields of the body. */
const SESSION_HEADER = 'x-svc-session-id';

/** The session that a request names, and the body field that names it; null for the header. */
export interface NamedSession {
  readonly id: string;
  readonly param: string | null;
}

/**
 * Finds the session that a request continues: in its header, its `thread_id` or `conversation_id`, or the
 * `conversation` of Responses.
 *
 * @returns undefined for a first turn. @throws ApiError invalid_parameter for two different ids, or an empty one.
 */
function sessionIdOf(
  headers: IncomingHttpHeaders,
  request: TurnFields,
  conversation: unknown,
): NamedSession | undefined {
  const header = headers[SESSION_HEADER];
  const given = [
    ['X-SVC-Session-Id', Array.isArray(header) ? header[0] : header],
    ['thread_id', request.thread_id],
    ['conversation_id', request.conversation_id],
    ['conversation', toConversationId(conversation)],
  ] as const;
  let found: (NamedSession & { readonly name: string }) | undefined;
  for (const [name, id] of given) {
    if (id === undefined) continue;
    const param = name === 'X-SVC-Session-Id' ? null : name;
    if (id.trim() === '') {
      throw new ApiError('invalid_parameter', `${name} is empty: leave it out for a new session.`, { param });
    }
    // Node.js joins a repeated header with commas, and a session id has no comma.
    if (param === null && id.includes(',')) {
      throw new ApiError('invalid_parameter', `${name} is ${preview(id)}: it has to name one session, once.`);
    }
    if (found !== undefined && found.id !== id) {
      const message = `${found.name} is ${preview(found.id)} and ${name} is ${preview(id)}: they have to name one session.`;
      throw new ApiError('invalid_parameter', message, { param });
    }
    found ??= { name, id, param };
  }
  return found;
}

/** Reads a string or an object with an `id`, the two forms that OpenAI allows. @throws ApiError invalid_parameter */
function toConversationId(conversation: unknown): string | undefined {
  if (conversation === undefined || conversation === null) return undefined;
  const id = typeof conversation === 'object' && 'id' in conversation ? conversation.id : conversation;
  if (typeof id === 'string') return id;
  const message = `conversation has to be the id of a session, or an object with it as id, got ${preview(conversation)}.`;
  throw new ApiError('invalid_parameter', message, { param: 'conversation' });
}

/** @throws ApiError invalid_parameter for unsupported fields: several choices, and tools of the caller. */
function refuseUnsupported({ name }: Dialect, request: TurnFields): void {
  const { n, tools, tool_choice: choice, functions, previous_response_id: before } = request;
  if (n !== undefined && n !== 1) throw new ApiError('invalid_parameter', `n has to be 1, got ${n}.`, { param: 'n' });
  const supplied = 'the environment supplies the tools; leave it out';
  if (Array.isArray(tools) ? tools.length > 0 : tools !== undefined && tools !== null) {
    throw new ApiError('invalid_parameter', `tools cannot be given: ${supplied}.`, { param: 'tools' });
  }
  if (choice !== undefined && choice !== null) {
    throw new ApiError('invalid_parameter', `tool_choice cannot be given: ${supplied}.`, { param: 'tool_choice' });
  }
  if (Array.isArray(functions) && functions.length > 0) {
    throw new ApiError('invalid_parameter', `functions cannot be given: ${supplied}.`, { param: 'functions' });
  }
  for (const param of ['toolConfig', 'tool_config'].filter((field) => (request[field] ?? null) !== null)) {
    throw new ApiError('invalid_parameter', `${param} cannot be given: ${supplied}.`, { param });
  }
  if (name === 'responses' && before !== undefined && before !== null) {
    const message =
      'previous_response_id names no session: name the one to continue by the header X-SVC-Session-Id, by thread_id or ' +
      'by conversation.';
    throw new ApiError('invalid_parameter', message, { param: 'previous_response_id' });
  }
}

/**
 * @throws ApiError invalid_parameter for tools and images that the model's provider would fetch outside of the
 * environment.
 */
function refuseProviders({ providerTools: [tool], remoteImages: [image] }: DialectRequest): void {
  if (tool !== undefined) {
    const message = `${preview(tool.type)} cannot be given: the environment supplies the tools; leave it out.`;
    throw new ApiError('invalid_parameter', message);
  }
  if (image !== undefined) {
    throw new ApiError(
      'invalid_parameter',
      `An image has to be given by its bytes, not by an address (${preview(image)}).`,
    );
  }
}

/** Reads the scenario of a first turn. @throws ApiError missing_required_parameter for a missing field. */
export function startOf(request: TurnFields): { readonly scenario: string; readonly args: JsonObject } {
  const { scenario, scenario_args: args } = request;
  if (scenario === undefined && args === undefined) {
    const message =
      'Name a scenario to start a session (scenario and scenario_args), or the session to continue ' +
      '(the header X-SVC-Session-Id, thread_id or conversation_id). GET /scenarios lists the scenarios.';
    throw new ApiError('missing_required_parameter', message, { param: 'scenario' });
  }
  if (scenario === undefined) {
    const message =
      'scenario is required beside scenario_args: the short name of a scenario. GET /scenarios lists them.';
    throw new ApiError('missing_required_parameter', message, { param: 'scenario' });
  }
  if (args === undefined) {
    const message = `scenario_args is required beside scenario: an object of its arguments, {} where it has none.`;
    throw new ApiError('missing_required_parameter', message, { param: 'scenario_args' });
  }
  return { scenario, args };
}

/**
 * Rejects a later turn that changes the scenario, its arguments, the model or `max_steps`. Equal values are accepted,
 * since some clients send the same extra fields each time.
 *
 * @throws ApiError session_conflict or invalid_parameter.
 */
export function refuseChanges(session: ChatSession, request: TurnFields): void {
  const { environment, scenario, listedName, args, model, maxSteps } = session.options;
  const isOther =
    request.scenario !== undefined && ![scenario, listedName, `${environment}:${scenario}`].includes(request.scenario);
  if (isOther) {
    const message = `Session ${session.id} plays the scenario ${preview(scenario)}, not ${preview(request.scenario)}. Leave scenario out, or start a new session.`;
    throw new ApiError('session_conflict', message, { param: 'scenario' });
  }
  if (request.scenario_args !== undefined && !isDeepStrictEqual(request.scenario_args, args)) {
    const message = `Session ${session.id} plays its scenario with other arguments, ${preview(args)}. Leave scenario_args out, or start a new session.`;
    throw new ApiError('session_conflict', message, { param: 'scenario_args' });
  }
  if (request.model !== undefined && request.model !== model) {
    const message = `The model of session ${session.id} is ${preview(model)} since its first turn, not ${preview(request.model)}.`;
    throw new ApiError('invalid_parameter', message, { param: 'model' });
  }
  if (request.max_steps !== undefined && request.max_steps !== maxSteps) {
    const message = `max_steps of session ${session.id} is ${maxSteps} since its first turn, not ${request.max_steps}.`;
    throw new ApiError('invalid_parameter', message, { param: 'max_steps' });
  }
}

/** The instructions and user messages of the first turn. */
export function firstMessages({ messages, lostResults }: DialectRequest): readonly PromptMessage[] {
  return messages.flatMap((message): PromptMessage[] => {
    if (message.role === 'assistant' || message.role === 'tool' || lostResults.includes(message)) return [];
    return [{ role: message.role === 'user' ? 'user' : 'system', content: contentOf(message) }];
  });
}

/**
 * The new user messages of a later turn. Clients resend the history, so these are the ones after the last assistant
 * message.
 *
 * @throws ApiError invalid_parameter if there is no new message.
 */
export function nextMessages({ dialect, messages, lostResults }: DialectRequest): readonly PromptMessage[] {
  const isNew = (message: TranscriptMessage, index: number) => index > last && !lostResults.includes(message);
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const next = messages.flatMap((message, index) =>
    message.role === 'user' && isNew(message, index) ? [{ role: message.role, content: contentOf(message) }] : [],
  );
  if (next.length > 0) return next;
  const param = LISTS[dialect];
  const where = last < 0 ? '' : ' after the last assistant message';
  throw new ApiError('invalid_parameter', `${param} has no user message${where}: there is nothing new to answer.`, {
    param,
  });
}

function contentOf({
  content,
}: Exclude<TranscriptMessage, { readonly role: 'assistant' | 'tool' }>): PromptMessage['content'] {
  return typeof content === 'string' ? content : [...content];
}

/** Field of each dialect that contains the messages. */
const LISTS = { chat: 'messages', messages: 'messages', responses: 'input', gemini: 'contents' } as const;
