import type { AssistantMessage, ToolCall, Usage } from '../../../contract/chat.ts';
import type { JsonObject } from '../../../contract/json.ts';
import { argumentsText, customInput } from '../call-arguments.ts';
import type { DialectRequest, ReplyHead } from '../dialect.ts';
import type { ModelOutput } from '../model-output.ts';
import { signReasoning } from '../reasoning-signature.ts';
import { toTypedCall } from './typed-calls.ts';

/** Body of an answer of OpenAI's Responses. */
export function writeResponsesResponse(request: DialectRequest, output: ModelOutput, head: ReplyHead): JsonObject {
  const ids = new ItemIds(head);
  return finishedResponse(request, { head, output, items: itemsOf(output.message, request, ids) });
}

/** Makes the ids of items. Repeated answers of one step have the same ids. */
export class ItemIds {
  readonly #head: ReplyHead;
  #count = 0;

  constructor(head: ReplyHead) {
    this.#head = head;
  }

  next(prefix: string): string {
    this.#count += 1;
    return `${prefix}_${this.#head.id}_${this.#count}`;
  }
}

function itemsOf(message: AssistantMessage, request: DialectRequest, ids: ItemIds): JsonObject[] {
  const { reasoning, content, refusal, tool_calls: calls } = message;
  const parts: JsonObject[] = [];
  if (content !== null && (content !== '' || calls.length === 0)) parts.push(textPart(content));
  if (refusal) parts.push({ type: 'refusal', refusal });
  return [
    ...(reasoning === null || reasoning === '' ? [] : [reasoningItem(ids.next('rs'), reasoning)]),
    ...(parts.length > 0 ? [messageItem(ids.next('msg'), parts)] : []),
    ...calls.map((call) => callItem(call, request, ids)),
  ];
}

export function textPart(text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] };
}

export function messageItem(id: string, content: JsonObject[], status = 'completed'): JsonObject {
  return { type: 'message', id, status, role: 'assistant', content };
}

export function reasoningItem(id: string, reasoning: string): JsonObject {
  const summary = [{ type: 'summary_text', text: reasoning }];
  return { type: 'reasoning', id, summary, encrypted_content: signReasoning(reasoning), status: 'completed' };
}

export function callItem(call: ToolCall, { names }: DialectRequest, ids: ItemIds): JsonObject {
  const { own_name: name, namespace, form } = names.toOwn(call.name);
  const rest = { call_id: call.id, status: 'completed' };
  if (form === 'typed') return { id: ids.next('tc'), ...toTypedCall(name, call), ...rest };
  const named = { name, ...(namespace === null ? {} : { namespace }), ...rest };
  return form === 'custom'
    ? { type: 'custom_tool_call', id: ids.next('ctc'), input: customInput(call), ...named }
    : { type: 'function_call', id: ids.next('fc'), arguments: argumentsText(call), ...named };
}

/** A response that has just begun. It leaves out the tools, which may be large. */
export function begunResponse(request: DialectRequest, head: ReplyHead): JsonObject {
  return { ...responseHead(request, head), status: 'in_progress', tools: [], output: [], usage: null };
}

export function finishedResponse(
  request: DialectRequest,
  { head, output, items }: { readonly head: ReplyHead; readonly output: ModelOutput; readonly items: JsonObject[] },
): JsonObject {
  const { finishReason, usage, message } = output;
  const reason = finishReason === 'length' ? 'max_output_tokens' : finishReason;
  // A refusal with a text counts as a complete answer.
  const isWhole = finishReason === 'content_filter' ? Boolean(message.refusal) : finishReason !== 'length';
  return {
    ...responseHead(request, head),
    status: isWhole ? 'completed' : 'incomplete',
    incomplete_details: isWhole ? null : { reason },
    tools: request.body.tools ?? [],
    output: items,
    usage: toResponsesUsage(usage),
  };
}

function responseHead({ body }: DialectRequest, head: ReplyHead): JsonObject {
  return {
    id: `resp_${head.id}`,
    object: 'response',
    created_at: Math.floor(head.createdAt / 1_000),
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model: head.model,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: body.reasoning ?? { effort: null, summary: null },
    store: false,
    temperature: body.temperature ?? null,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    top_p: body.top_p ?? null,
    truncation: 'disabled',
    ...head.extra,
  };
}

function toResponsesUsage(usage: Usage): JsonObject {
  return {
    input_tokens: usage.prompt_tokens,
    input_tokens_details: { cached_tokens: usage.cached_tokens },
    output_tokens: usage.completion_tokens,
    output_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
    total_tokens: usage.total_tokens,
  };
}
