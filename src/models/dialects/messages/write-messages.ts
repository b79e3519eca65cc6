import type { FinishReason, ToolCall, Usage } from '../../../contract/chat.ts';
import type { JsonObject } from '../../../contract/json.ts';
import type { DialectError, DialectRequest, ErrorReply, ListedModel, ReplyHead } from '../dialect.ts';
import type { ModelOutput } from '../model-output.ts';
import { signReasoning } from '../reasoning-signature.ts';

/** Body of an answer of Anthropic's Messages. */
export function writeMessagesResponse(request: DialectRequest, output: ModelOutput, head: ReplyHead): JsonObject {
  const { message, finishReason, usage } = output;
  const { reasoning, tool_calls: calls } = message;
  const text = (message.content ?? '') + (message.refusal ?? '');
  const content: JsonObject[] = [];
  if (reasoning !== null && reasoning !== '') {
    content.push({ type: 'thinking', thinking: reasoning, signature: signReasoning(reasoning) });
  }
  if (text !== '') content.push({ type: 'text', text });
  for (const call of calls) content.push({ ...toolUse(call, request), input: call.arguments });
  return {
    ...messageHead(head),
    content,
    stop_reason: STOP_REASONS[finishReason],
    stop_sequence: null,
    usage: toMessagesUsage(usage),
  };
}

export function messageHead(head: ReplyHead): JsonObject {
  return { id: `msg_${head.id}`, type: 'message', role: 'assistant', model: head.model, ...head.extra };
}

/** A call without its input, which a stream sends separately. */
export function toolUse({ id, name }: ToolCall, { names }: DialectRequest): JsonObject {
  return { type: 'tool_use', id, name: names.toOwn(name).own_name };
}

export const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

/** Converts the usage. `input_tokens` does not include cached tokens here. */
export function toMessagesUsage(usage: Usage): JsonObject {
  return {
    input_tokens: Math.max(0, usage.prompt_tokens - usage.cached_tokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cached_tokens,
    output_tokens: usage.completion_tokens,
  };
}

/** Writes an error. Anthropic's servers report overload as 529 instead of 503. */
export function writeMessagesError(error: DialectError): ErrorReply {
  const status = error.status === 503 ? 529 : error.status;
  return { status, headers: error.headers, body: toMessagesError({ ...error, status }) };
}

export function toMessagesError({ status, message, code, param }: DialectError): JsonObject {
  const type = ERROR_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error');
  return { type: 'error', error: { type, message, code, ...(param === null ? {} : { param }) } };
}

const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

export function writeMessagesModels(models: readonly ListedModel[]): JsonObject {
  const ids = models.map(({ name }) => name);
  return {
    data: models.map(writeMessagesModel),
    has_more: false,
    first_id: ids[0] ?? null,
    last_id: ids.at(-1) ?? null,
  };
}

export function writeMessagesModel({ name, createdAt }: ListedModel): JsonObject {
  return { type: 'model', id: name, display_name: name, created_at: new Date(createdAt).toISOString() };
}
