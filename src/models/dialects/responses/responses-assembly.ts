import type { FinishReason, ToolCall } from '../../../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { answeredFailure, GatewayFailure } from '../../gateway-failure.ts';
import { parseArguments, toCustomArguments } from '../call-arguments.ts';
import { toUsage } from '../chat/chat-usage.ts';
import type { EventAssembly } from '../event-tap.ts';
import type { ModelDelta, ModelOutput } from '../model-output.ts';
import { objectsOf, textOrEmpty } from '../request-fields.ts';
import type { ToolNames } from '../tool-names.ts';
import { readTypedCall } from './typed-calls.ts';

const LAST_EVENTS: ReadonlySet<string> = new Set(['response.completed', 'response.incomplete']);

/** Builds one response from the events of a Responses stream, or from a whole answer. */
export class ResponsesAssembly implements EventAssembly {
  readonly #names: ToolNames;
  readonly #onDelta: (delta: ModelDelta) => void;
  /** Finished items, for a last event that does not repeat them. */
  readonly #items: JsonObject[] = [];
  #response: JsonObject | undefined;

  constructor(names: ToolNames, onDelta: (delta: ModelDelta) => void = () => {}) {
    this.#names = names;
    this.#onDelta = onDelta;
  }

  add(event: unknown): boolean {
    if (!isJsonObject(event)) return false;
    const type = textOrEmpty(event.type);
    if (type === 'error') throw answeredFailure(event.error ?? event);
    if (type === 'response.failed') throw failureOf(event.response);
    if (type === 'response.output_item.done' && isJsonObject(event.item)) this.#items.push(event.item);
    const field = DELTAS.get(type);
    if (field !== undefined) this.#onDelta({ [field]: textOrEmpty(event.delta) });
    if (!LAST_EVENTS.has(type) || !isJsonObject(event.response)) return false;
    this.#response = event.response;
    return true;
  }

  /** Reads an answer that was not streamed. @throws GatewayFailure */
  addWhole(body: unknown): void {
    if (!isJsonObject(body) || !Array.isArray(body.output) || body.status === 'failed') throw failureOf(body);
    this.#response = body;
  }

  finish(): ModelOutput {
    const response = this.#response;
    if (response === undefined) throw new GatewayFailure('lost', 'the stream ended without its last event');
    const own = objectsOf(response.output);
    const items = own.length > 0 ? own : this.#items;
    const calls = items.flatMap((item) => this.#toCalls(item));
    const content = textOf(items, 'output_text', 'text');
    const refusal = textOf(items, 'refusal', 'refusal');
    return {
      message: {
        role: 'assistant',
        content: content === '' && calls.length > 0 ? null : content,
        reasoning: items.map(reasoningOf).join('') || null,
        ...(refusal === '' ? {} : { refusal }),
        tool_calls: calls,
      },
      finishReason: finishReasonOf(response, calls.length > 0),
      usage: toUsage(asChatUsage(response.usage)),
      tokenIds: null,
      logprobs: null,
      id: textOrEmpty(response.id) || null,
      model: textOrEmpty(response.model) || null,
    };
  }

  #toCalls(item: JsonObject): ToolCall[] {
    const id = textOrEmpty(item.call_id) || textOrEmpty(item.id);
    const typed = readTypedCall(item);
    if (typed !== undefined) return [{ id, name: this.#names.toName(typed.tool), ...typed.args }];
    const name = this.#names.toName(textOrEmpty(item.name), textOrEmpty(item.namespace) || null);
    if (item.type === 'function_call') return [{ id, name, ...parseArguments(textOrEmpty(item.arguments)) }];
    return item.type === 'custom_tool_call' ? [{ id, name, ...toCustomArguments(textOrEmpty(item.input)) }] : [];
  }
}

const DELTAS: ReadonlyMap<string, keyof ModelDelta> = new Map(
  Object.entries({
    'response.output_text.delta': 'content',
    'response.refusal.delta': 'refusal',
    'response.reasoning_text.delta': 'reasoning',
    'response.reasoning_summary_text.delta': 'reasoning',
  }),
);

function failureOf(response: unknown): GatewayFailure {
  if (!isJsonObject(response)) return new GatewayFailure('answered', 'the reply is no response');
  return answeredFailure(response.error ?? response);
}

function textOf(items: readonly JsonObject[], type: string, field: string): string {
  const parts = items.filter((item) => item.type === 'message').flatMap((item) => objectsOf(item.content));
  return parts.map((part) => (part.type === type ? textOrEmpty(part[field]) : '')).join('');
}

function reasoningOf(item: JsonObject): string {
  if (item.type !== 'reasoning') return '';
  const textsOf = (parts: Json | undefined) => objectsOf(parts).map((part) => textOrEmpty(part.text));
  return textsOf(item.content).join('') || textsOf(item.summary).join('\n');
}

function finishReasonOf({ incomplete_details: details }: JsonObject, hasCalls: boolean): FinishReason {
  const reason = isJsonObject(details) ? details.reason : undefined;
  if (reason === 'content_filter') return 'content_filter';
  if (reason !== undefined && reason !== null) return 'length';
  return hasCalls ? 'tool_calls' : 'stop';
}

/** Renames the details to those of chat completions. */
function asChatUsage(usage: Json | undefined): Json | undefined {
  if (!isJsonObject(usage)) return undefined;
  const { input_tokens_details: prompt, output_tokens_details: completion, ...rest } = usage;
  return { ...rest, prompt_tokens_details: prompt ?? null, completion_tokens_details: completion ?? null };
}
