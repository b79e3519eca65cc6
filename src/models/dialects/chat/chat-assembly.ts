import type { AssistantMessage, FinishReason } from '../../../contract/chat.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../contract/json.ts';
import { answeredFailure, GatewayFailure } from '../../gateway-failure.ts';
import type { ModelDelta, ModelOutput } from '../model-output.ts';
import { textOrEmpty } from '../request-fields.ts';
import { toExtra } from './assistant-extra.ts';
import { toUsage } from './chat-usage.ts';
import { TOKEN_FIELDS, TokenRecord } from './token-record.ts';
import { ToolCallAssembly } from './tool-call-assembly.ts';

/**
 * Builds one response from the chunks of a stream. A whole `chat.completion`, which some gateways send instead of a
 * stream, counts as one chunk. Only the first choice is used.
 */
export class ChatAssembly {
  readonly #onDelta: ((delta: ModelDelta) => void) | undefined;
  readonly #calls = new ToolCallAssembly();
  readonly #tokens = new TokenRecord();
  readonly #messageExtra: JsonObject = {};
  #content = '';
  #reasoning = '';
  #reasoningField: ReasoningField | undefined;
  readonly #reasoningDetails: JsonObject[] = [];
  #refusal = '';
  #finishReason: string | undefined;
  #usage: Json | undefined;
  #id: string | undefined;
  #model: string | undefined;

  constructor(onDelta?: (delta: ModelDelta) => void) {
    this.#onDelta = onDelta;
  }

  /** True once any output of the model has arrived. */
  get hasTokens(): boolean {
    return this.#content + this.#reasoning + this.#refusal !== '' || !this.#calls.isEmpty;
  }

  /** Characters of the model's output so far, including its calls. */
  get characters(): number {
    return this.#content.length + this.#reasoning.length + this.#refusal.length + this.#calls.characters;
  }

  /** True once the model has finished. Only the usage may follow. */
  get isFinished(): boolean {
    return this.#finishReason !== undefined;
  }

  /** Adds a chunk. @throws GatewayFailure for an error in place of a chunk. */
  add(received: unknown): void {
    // Gemini wraps its errors in a list.
    const chunk: unknown = Array.isArray(received) ? received[0] : received;
    if (!isJsonObject(chunk)) return;
    throwIfError(chunk);
    this.#id ??= textOrEmpty(chunk.id) || undefined;
    this.#model ??= textOrEmpty(chunk.model) || undefined;
    const choice = firstChoice(chunk);
    const message = [choice?.delta, choice?.message].find(isJsonObject);
    this.#usage = [chunk.usage, choice?.usage].find(isJsonObject) ?? this.#usage;
    this.#tokens.add([choice, message, chunk].filter(isJsonObject));
    if (message !== undefined) this.#addMessage(message, message === choice?.message);
    if (choice === undefined) return;
    if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') {
      this.#finishReason = choice.finish_reason;
    } else if (isJsonObject(choice.message)) {
      this.#finishReason ??= 'stop';
    }
  }

  /** Builds the response. @throws GatewayFailure if the stream ended early or with an error. */
  finish(): ModelOutput {
    if (this.#finishReason === undefined) {
      throw new GatewayFailure('lost', 'the stream ended without a finish_reason');
    }
    if (this.#finishReason === 'error') {
      throw new GatewayFailure('answered', 'the stream ended with the finish_reason "error"');
    }
    const { calls, extras } = this.#calls.finish();
    if (this.#reasoningDetails.length > 0) this.#messageExtra.reasoning_details = this.#reasoningDetails;
    const reasoning = this.#reasoning || this.#reasoningDetails.map((detail) => textOrEmpty(detail.text)).join('');
    const extra = toExtra({
      message: this.#messageExtra,
      toolCalls: extras,
      reasoningField: this.#reasoningField,
    });
    const message: AssistantMessage = {
      role: 'assistant',
      content: this.#content === '' && calls.length > 0 ? null : this.#content,
      reasoning: reasoning === '' ? null : reasoning,
      ...(this.#refusal === '' ? {} : { refusal: this.#refusal }),
      tool_calls: calls,
      ...(extra === undefined ? {} : { extra }),
    };
    return {
      message,
      finishReason: toFinishReason(this.#finishReason, calls.length > 0),
      usage: toUsage(this.#usage),
      tokenIds: this.#tokens.tokenIds,
      logprobs: this.#tokens.logprobs,
      id: this.#id ?? null,
      model: this.#model ?? null,
    };
  }

  #addMessage(message: JsonObject, isWhole: boolean): void {
    this.#addContent(message.content);
    const field = this.#reasoningField ?? REASONING_FIELDS.find((name) => textOrEmpty(message[name]) !== '');
    if (field !== undefined) {
      this.#reasoningField = field;
      this.#addReasoning(textOrEmpty(message[field]));
    }
    this.#addRefusal(textOrEmpty(message.refusal));
    for (const detail of listOf(message.reasoning_details)) this.#addReasoningDetail(detail, isWhole);
    for (const piece of listOf(message.tool_calls)) this.#calls.add(piece);
    for (const [name, value] of Object.entries(message)) {
      if (!OWN_FIELDS.has(name) && !TOKEN_FIELDS.has(name) && value !== null) {
        this.#messageExtra[name] = merged(this.#messageExtra[name], value);
      }
    }
  }

  /** Adds text, or (Mistral) a list of parts, whose `thinking` parts are reasoning. */
  #addContent(content: Json | undefined): void {
    if (typeof content === 'string') {
      if (content === '') return;
      this.#content += content;
      this.#onDelta?.({ content });
    }
    for (const part of listOf(content).filter(isJsonObject)) {
      if (part.type === 'text') this.#addContent(textOrEmpty(part.text));
      if (part.type === 'thinking') {
        for (const thought of listOf(part.thinking).filter(isJsonObject)) this.#addReasoning(textOrEmpty(thought.text));
      }
    }
  }

  #addReasoning(reasoning: string): void {
    if (reasoning === '') return;
    this.#reasoning += reasoning;
    this.#onDelta?.({ reasoning });
  }

  #addRefusal(refusal: string): void {
    if (refusal === '') return;
    this.#refusal += refusal;
    this.#onDelta?.({ refusal });
  }

  /** Joins the pieces of one detail, which share type and index, because the provider expects the whole back. */
  #addReasoningDetail(detail: Json, isWhole: boolean): void {
    if (!isJsonObject(detail)) return;
    const last = this.#reasoningDetails.at(-1);
    if (isWhole || last === undefined || !isPieceOf(last, detail)) {
      this.#reasoningDetails.push({ ...detail });
      return;
    }
    for (const [name, value] of Object.entries(detail)) {
      const before = last[name];
      const isText = DETAIL_TEXTS.has(name) && typeof before === 'string' && typeof value === 'string';
      if (isText) last[name] = before + value;
      else if (value !== null) last[name] = value;
    }
  }
}

type ReasoningField = (typeof REASONING_FIELDS)[number];
const REASONING_FIELDS = ['reasoning_content', 'reasoning'] as const;
/** True if a piece continues a detail. Different ids mean different details. */
function isPieceOf(before: JsonObject, detail: JsonObject): boolean {
  const { type, index, id } = detail;
  const isOther = typeof id === 'string' && typeof before.id === 'string' && id !== before.id;
  return type === before.type && index === before.index && !isOther;
}

const DETAIL_TEXTS: ReadonlySet<string> = new Set(['text', 'summary', 'data']);

/** Message fields that the contract has, and `function_call`, which `tool_calls` has replaced. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'role',
  'content',
  'refusal',
  'tool_calls',
  'function_call',
  'reasoning_details',
  ...REASONING_FIELDS,
]);

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['length', 'length'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  ['model_length', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['content_filter', 'content_filter'],
  ['safety', 'content_filter'],
  ['refusal', 'content_filter'],
  ['sensitive', 'content_filter'],
]);

/** The calls decide between `stop` and `tool_calls`, because Gemini ends a response with calls as `stop`. */
function toFinishReason(reason: string, hasCalls: boolean): FinishReason {
  return FINISH_REASONS.get(reason.toLowerCase()) ?? (hasCalls ? 'tool_calls' : 'stop');
}

/** Throws for `{"error": ...}`, vLLM's `{"object": "error", ...}` and Anthropic's `{"type": "error", ...}`. */
function throwIfError(chunk: JsonObject): void {
  if (chunk.error !== undefined && chunk.error !== null && chunk.error !== false) throw answeredFailure(chunk.error);
  if (chunk.object === 'error' || chunk.type === 'error') throw answeredFailure(chunk);
}

function firstChoice(chunk: JsonObject): JsonObject | undefined {
  return listOf(chunk.choices)
    .filter(isJsonObject)
    .find((choice) => (choice.index ?? 0) === 0);
}

/** Joins lists and the fields of objects; any other value replaces the earlier one. */
function merged(before: Json | undefined, value: Json): Json {
  if (Array.isArray(before) && Array.isArray(value)) return [...before, ...value];
  if (isJsonObject(before) && isJsonObject(value)) return { ...before, ...value };
  return value;
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}
