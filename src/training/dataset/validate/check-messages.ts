import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { preview } from '../../../support/schema/json-schema.ts';
import type { ChatRules } from './chat-rules.ts';
import type { Problems } from './line-problem.ts';

const ROLES: ReadonlySet<Json> = new Set(['system', 'developer', 'user', 'assistant', 'tool']);
const FIELDS: ReadonlySet<string> = new Set(['role', 'content', 'name', 'tool_calls', 'tool_call_id', 'refusal']);
const REASONING: ReadonlySet<string> = new Set(['reasoning', 'reasoning_content', 'thinking']);
const FUNCTION_NAME = /^[A-Za-z0-9_-]{1,64}$/;

export interface MessagesContext {
  readonly rules: ChatRules;
  /** Names of the tools in the line; undefined when they could not be read. */
  readonly tools: ReadonlySet<string> | undefined;
  /** Path of the messages in the line. */
  readonly path: string;
  /** False for the common part of a pair, which ends before the assistant's message. */
  readonly isWhole: boolean;
  readonly problems: Problems;
}

/** Checks the fields of each message, and that every call is answered once before the next message. */
export function checkMessages(given: Json | undefined, context: MessagesContext): void {
  const { problems, path, rules } = context;
  if (!Array.isArray(given) || given.length === 0) {
    problems.error('messages', path, `has to be a list of messages, got ${preview(given)}`);
    return;
  }
  const calls = new OpenCalls();
  let trained = 0;
  for (const [index, message] of given.entries()) {
    const at = `${path}.${index}`;
    if (!isJsonObject(message) || !ROLES.has(message.role ?? null)) {
      const role = isJsonObject(message) ? message.role : message;
      problems.error('role', `${at}.role`, `has to be one of ${[...ROLES].join(', ')}, got ${preview(role)}`);
      return;
    }
    checkFields(message, at, context);
    checkContent(message, at, context);
    if (message.role === 'tool') calls.answer(message, at, problems);
    else calls.leave(at, problems);
    if (message.role === 'assistant') {
      calls.open(checkCalls(message, at, context));
      if (isTrained(message, rules)) trained += 1;
    }
  }
  calls.leave(`${path}.${given.length - 1}`, problems);
  if (rules.takesTurns && context.isWhole) checkTurns(given, context);
  if (!context.isWhole) return;
  const last = given.at(-1);
  if (!isJsonObject(last) || last.role !== 'assistant') {
    problems.error('last_message', path, 'has to end with a message of the assistant: that is what is learned');
  } else if (trained === 0) {
    problems.error('nothing_trained', path, 'has no message of the assistant that is trained on');
  }
}

function isTrained(message: JsonObject, { untrained }: ChatRules): boolean {
  return untrained === undefined || message[untrained.field] !== untrained.value;
}

function checkFields(message: JsonObject, at: string, { rules, problems }: MessagesContext): void {
  const { untrained, reasoning } = rules;
  for (const field of Object.keys(message)) {
    if (FIELDS.has(field) || reasoning.includes(field)) continue;
    if (field === untrained?.field) {
      checkWeight(message, at, field, problems);
    } else if (REASONING.has(field)) {
      problems.warning('reasoning', `${at}.${field}`, 'is read by some trainers alone: others drop or refuse it');
    } else {
      problems.error('unknown_field', `${at}.${field}`, 'is not a field of a message');
    }
  }
}

function checkWeight(message: JsonObject, at: string, field: 'weight' | 'train', problems: Problems): void {
  const allowed: readonly unknown[] = field === 'weight' ? [0, 1] : [true, false];
  if (!allowed.includes(message[field])) {
    const got = preview(message[field]);
    problems.error(field, `${at}.${field}`, `has to be ${allowed.join(' or ')}, got ${got}`);
  }
  if (field === 'weight' && message.role !== 'assistant') {
    problems.error(field, `${at}.${field}`, 'may stand on messages of the assistant alone');
  }
}

function checkContent(message: JsonObject, at: string, context: MessagesContext): void {
  const { rules, problems } = context;
  const { content, role, tool_calls: calls, refusal } = message;
  if (typeof content === 'string') return;
  const mayBeNone =
    role === 'assistant' && rules.hasNullContent && (calls !== undefined || typeof refusal === 'string');
  if (content === null || content === undefined) {
    if (!mayBeNone) problems.error('content', `${at}.content`, `has to be a text, got ${preview(content)}`);
    return;
  }
  if (!Array.isArray(content) || content.length === 0 || !rules.hasImages) {
    problems.error('content', `${at}.content`, `has to be a text, got ${preview(content)}`);
    return;
  }
  for (const [index, part] of content.entries()) checkPart(part, role, `${at}.content.${index}`, problems);
}

function checkPart(part: Json, role: Json | undefined, at: string, problems: Problems): void {
  if (isJsonObject(part) && part.type === 'text' && typeof part.text === 'string') return;
  const isImage = isJsonObject(part) && part.type === 'image_url' && isJsonObject(part.image_url);
  if (!isImage || !isJsonObject(part.image_url)) {
    problems.error('content', at, `has to be a part of the type text or image_url, got ${preview(part)}`);
    return;
  }
  const { url } = part.image_url;
  if (role !== 'user') problems.error('image', at, `may be in messages of the user alone, not of ${preview(role)}`);
  if (typeof url !== 'string' || !/^(?:https?:\/\/|data:image\/(?:png|jpeg|webp|gif);base64,)/.test(url)) {
    problems.error('image', at, `has to be a http or data URL of a PNG, JPEG, WEBP or GIF, got ${preview(url)}`);
  }
}

/** @returns the ids of the message's calls. */
function checkCalls(message: JsonObject, at: string, context: MessagesContext): readonly string[] {
  const { problems } = context;
  const { tool_calls: calls } = message;
  if (calls === undefined) return [];
  if (!Array.isArray(calls) || calls.length === 0) {
    problems.error(
      'tool_calls',
      `${at}.tool_calls`,
      `has to be a list of calls, or not to be there, got ${preview(calls)}`,
    );
    return [];
  }
  return calls.map((call, index) =>
    checkCall(call, `${at}.tool_calls.${index}`, isTrained(message, context.rules), context),
  );
}

function checkCall(call: Json, at: string, isLearned: boolean, { rules, tools, problems }: MessagesContext): string {
  const called = isJsonObject(call) ? call.function : undefined;
  if (!isJsonObject(call) || call.type !== 'function' || !isJsonObject(called)) {
    problems.error('tool_calls', at, `has to be {id, type: "function", function}, got ${preview(call)}`);
    return '';
  }
  const { name, arguments: args } = called;
  if (typeof name !== 'string' || !FUNCTION_NAME.test(name)) {
    problems.error(
      'tool_name',
      `${at}.function.name`,
      `has to be 1 to 64 letters, digits, "_" and "-", got ${preview(name)}`,
    );
  } else if (tools?.has(name) === false) {
    const says = `is ${preview(name)}, which is not among the tools of the line`;
    if (isLearned && rules.untrained !== undefined) problems.error('unknown_tool', `${at}.function.name`, says);
    else problems.warning('unknown_tool', `${at}.function.name`, says);
  }
  if (!isArguments(args, rules)) {
    const wanted = rules.arguments === 'object' ? 'an object' : 'the JSON text of an object';
    problems.error('arguments', `${at}.function.arguments`, `has to be ${wanted}, got ${preview(args)}`);
  }
  if (typeof call.id === 'string' && call.id !== '') return call.id;
  problems.error('tool_call_id', `${at}.id`, `has to be a text, got ${preview(call.id)}`);
  return '';
}

function isArguments(args: Json | undefined, { arguments: form }: ChatRules): boolean {
  if (typeof args !== 'string') return form !== 'text' && isJsonObject(args);
  if (form === 'object') return false;
  try {
    return isJsonObject(JSON.parse(args));
  } catch {
    return false;
  }
}

/** Calls of the last response without an answer. Two calls may have the same id; each needs an answer. */
class OpenCalls {
  #open: string[] = [];

  open(ids: readonly string[]): void {
    this.#open = [...ids];
  }

  answer({ tool_call_id: id }: JsonObject, at: string, problems: Problems): void {
    const place = typeof id === 'string' ? this.#open.indexOf(id) : -1;
    if (place === -1) {
      problems.error(
        'tool_answer',
        `${at}.tool_call_id`,
        `is ${preview(id)}, which no open call of the message before has`,
      );
    } else {
      this.#open.splice(place, 1);
    }
  }

  /** Called before another message, or at the end: reports a call without an answer. */
  leave(at: string, problems: Problems): void {
    const [first] = this.#open;
    if (first !== undefined) problems.error('tool_answer', at, `comes before the call ${preview(first)} was answered`);
    this.#open = [];
  }
}

/**
 * Checks that roles alternate as LLaMA-Factory requires: the system text is separate, and results of one response count
 * as one turn. LLaMA-Factory skips other lines.
 */
function checkTurns(messages: readonly Json[], { path, problems }: MessagesContext): void {
  let place = 0;
  let before: Json | undefined;
  for (const [index, message] of messages.entries()) {
    const role = isJsonObject(message) ? message.role : undefined;
    if (index === 0 && role === 'system') continue;
    if (role === 'tool' && before === 'tool') continue;
    before = role;
    if ((role === 'assistant') === (place % 2 === 1)) {
      place += 1;
      continue;
    }
    const wanted = place % 2 === 1 ? 'of the assistant' : 'of the user or a tool result';
    problems.error(
      'turns',
      `${path}.${index}`,
      `has to be a message ${wanted}, got ${preview(role)}: the line would be skipped`,
    );
    return;
  }
}
