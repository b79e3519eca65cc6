import type { ToolCall, Usage } from '../../../contract/chat.ts';
import type { Json, JsonObject } from '../../../contract/json.ts';
import { argumentsText, customInput } from '../call-arguments.ts';
import type { DialectError, DialectRequest, ErrorReply, ListedModel, ReplyHead } from '../dialect.ts';
import type { ModelOutput } from '../model-output.ts';

/** Body of an answer of OpenAI's chat completions. */
export function writeChatResponse(request: DialectRequest, output: ModelOutput, head: ReplyHead): JsonObject {
  const { message, finishReason, usage, logprobs } = output;
  const calls = message.tool_calls.map((call) => toChatCall(call, request));
  return {
    ...chatHead(head, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: message.content,
          refusal: message.refusal ?? null,
          ...(message.reasoning === null ? {} : { reasoning_content: message.reasoning }),
          ...(calls.length > 0 ? { tool_calls: calls } : {}),
        },
        logprobs: request.body.logprobs === true ? logprobs : null,
        finish_reason: finishReason,
      },
    ],
    usage: toChatUsage(usage),
  };
}

export function chatHead(head: ReplyHead, object: string): JsonObject {
  return {
    id: `chatcmpl-${head.id}`,
    object,
    created: Math.floor(head.createdAt / 1_000),
    model: head.model,
    ...head.extra,
  };
}

export function toChatCall(call: ToolCall, { names }: DialectRequest): JsonObject {
  const { own_name: name, form } = names.toOwn(call.name);
  return form === 'custom'
    ? { id: call.id, type: 'custom', custom: { name, input: customInput(call) } }
    : { id: call.id, type: 'function', function: { name, arguments: argumentsText(call) } };
}

export function toChatUsage(usage: Usage): JsonObject {
  return {
    prompt_tokens: usage.prompt_tokens,
    completion_tokens: usage.completion_tokens,
    total_tokens: usage.total_tokens,
    prompt_tokens_details: { cached_tokens: usage.cached_tokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
  };
}

/** Body of an error in OpenAI's format, as Proctor's own routes send it. */
export function toOpenAiError({ status, message, param, code }: DialectError): JsonObject {
  return {
    error: { message, type: ERROR_TYPES[status] ?? (status < 500 ? OTHER_TYPE : 'server_error'), param, code },
  };
}

export function writeOpenAiError(error: DialectError): ErrorReply {
  return { status: error.status, headers: error.headers, body: toOpenAiError(error) };
}

const OTHER_TYPE = 'invalid_request_error';
const ERROR_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
  502: 'upstream_error',
  504: 'upstream_error',
};

export function writeOpenAiModels(models: readonly ListedModel[]): JsonObject {
  return { object: 'list', data: models.map(writeOpenAiModel) satisfies Json[] };
}

export function writeOpenAiModel({ name, createdAt }: ListedModel): JsonObject {
  return { id: name, object: 'model', created: Math.floor(createdAt / 1_000), owned_by: 'proctor' };
}
