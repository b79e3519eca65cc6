import type { IncomingHttpHeaders } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { ChatMessage, ChatRequest } from '../contract/chat-completions.ts';
import { ApiError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { ContentPart, PromptMessage } from '../contract/scenario.ts';
import { preview } from '../schema/json-schema.ts';
import type { ChatSession } from './chat-session.ts';

/** Names of the session id, in the order in which they are read. */
const SESSION_HEADER = 'x-svc-session-id';

/** Which session is meant, and the field of the body that says it; null for the header. */
export interface NamedSession {
  readonly id: string;
  readonly param: string | null;
}

/**
 * The session that a request continues: of its header, its `thread_id` or its `conversation_id`.
 *
 * @returns undefined for a first turn. @throws ApiError invalid_parameter for two that disagree, or an empty one.
 */
export function sessionIdOf(headers: IncomingHttpHeaders, request: ChatRequest): NamedSession | undefined {
  const header = headers[SESSION_HEADER];
  const given = [
    ['X-SVC-Session-Id', Array.isArray(header) ? header[0] : header],
    ['thread_id', request.thread_id],
    ['conversation_id', request.conversation_id],
  ] as const;
  let found: (NamedSession & { readonly name: string }) | undefined;
  for (const [name, id] of given) {
    if (id === undefined) continue;
    const param = name === 'X-SVC-Session-Id' ? null : name;
    if (id.trim() === '') {
      throw new ApiError('invalid_parameter', `${name} is empty: leave it out for a new session.`, { param });
    }
    // Node.js joins a header that comes twice, and no id of ours has a comma.
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

/** @throws ApiError invalid_parameter for what this surface does not do: several choices, and tools of the caller. */
export function refuseUnsupported(request: ChatRequest): void {
  const { n, tools, tool_choice: choice, functions } = request as ChatRequest & Readonly<Record<string, unknown>>;
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
}

/** Reads the scenario that a request starts. @throws ApiError missing_required_parameter for a missing field. */
export function startOf(request: ChatRequest): { readonly scenario: string; readonly args: JsonObject } {
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
 * Refuses what a follow-up cannot change: the scenario, its arguments, the model and `max_steps`. Clients with fixed
 * extra fields send them again as they were.
 *
 * @throws ApiError session_conflict or invalid_parameter.
 */
export function refuseChanges(session: ChatSession, request: ChatRequest): void {
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

/** The instructions and user messages of a first turn. */
export function firstMessages(messages: readonly ChatMessage[]): readonly PromptMessage[] {
  return messages.flatMap((message, index): PromptMessage[] => {
    const { role } = message;
    if (role === 'user') return [{ role, content: contentOf(message, index) }];
    return role === 'system' || role === 'developer' ? [{ role: 'system', content: contentOf(message, index) }] : [];
  });
}

/**
 * The new user messages of a later turn: those after the last assistant message, since clients send their history again.
 *
 * @throws ApiError invalid_parameter where there is none.
 */
export function nextMessages(messages: readonly ChatMessage[]): readonly PromptMessage[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const next = messages.flatMap((message, index) =>
    index > last && message.role === 'user' ? [{ role: 'user' as const, content: contentOf(message, index) }] : [],
  );
  if (next.length > 0) return next;
  const where = last < 0 ? '' : ' after the last assistant message';
  throw new ApiError('invalid_parameter', `messages has no user message${where}: there is nothing new to answer.`, {
    param: 'messages',
  });
}

function contentOf({ role, content }: ChatMessage, index: number): PromptMessage['content'] {
  const param = `messages.${index}.content`;
  if (content === undefined) {
    const message = `${param} of a ${role} message is required: a text or a list of parts.`;
    throw new ApiError('missing_required_parameter', message, { param });
  }
  if (content === null) {
    const message = `${param} of a ${role} message has to be a text or a list of parts, got null.`;
    throw new ApiError('invalid_parameter', message, { param });
  }
  if (typeof content === 'string') return content;
  return content.map((part, at) => toPart(part, `${param}.${at}`));
}

function toPart(part: Readonly<Record<string, unknown>>, param: string): ContentPart {
  if (part.type === 'text' && typeof part.text === 'string') return { type: 'text', text: part.text };
  const url = part.type === 'image_url' ? imageUrlOf(part.image_url) : undefined;
  const [, mimeType, data] = /^data:(image\/[\w.+-]+);base64,([A-Za-z0-9+/=\s]+)$/.exec(url ?? '') ?? [];
  if (mimeType !== undefined && data !== undefined) return { type: 'image', data: data.replace(/\s/g, ''), mimeType };
  const message = `${param} has to be a text, or an image as a data URL (data:image/png;base64,…), got ${preview(part)}.`;
  throw new ApiError('invalid_parameter', message, { param });
}

function imageUrlOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  const url = typeof value === 'object' && value !== null && 'url' in value ? value.url : undefined;
  return typeof url === 'string' ? url : undefined;
}
