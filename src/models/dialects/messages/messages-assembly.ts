import type { FinishReason, ToolCall, Usage } from '../../../contract/chat.ts';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import { answeredFailure, GatewayFailure } from '../../gateway-failure.ts';
import { parseArguments, toArguments } from '../call-arguments.ts';
import type { EventAssembly } from '../event-tap.ts';
import { type ModelDelta, type ModelOutput, NO_USAGE } from '../model-output.ts';
import { objectsOf, textOrEmpty } from '../request-fields.ts';
import type { ToolNames } from '../tool-names.ts';

/** Most blocks of one response. */
const MAX_BLOCKS = 10_000;

/** Builds one response from the events of a Messages stream, or from a whole answer. */
export class MessagesAssembly implements EventAssembly {
  readonly #names: ToolNames;
  readonly #onDelta: (delta: ModelDelta) => void;
  readonly #blocks = new Map<number, Block>();
  #head: JsonObject = {};
  #usage: JsonObject = {};
  #stopReason: string | undefined;

  constructor(names: ToolNames, onDelta: (delta: ModelDelta) => void = () => {}) {
    this.#names = names;
    this.#onDelta = onDelta;
  }

  add(event: unknown): boolean {
    if (!isJsonObject(event)) return false;
    const { type, index } = event;
    const at = typeof index === 'number' ? index : -1;
    if (type === 'error') throw answeredFailure(event.error ?? event);
    if (type === 'message_start' && isJsonObject(event.message)) this.#take(event.message);
    if (type === 'content_block_start' && isJsonObject(event.content_block)) this.#begin(at, event.content_block);
    if (type === 'content_block_delta' && isJsonObject(event.delta)) this.#addPiece(at, event.delta);
    if (type === 'message_delta') {
      this.#take({ ...(isJsonObject(event.delta) ? event.delta : {}), usage: event.usage ?? {} });
      return this.#stopReason !== undefined;
    }
    return type === 'message_stop';
  }

  /** Reads an answer that was not streamed. @throws GatewayFailure */
  addWhole(body: unknown): void {
    if (!isJsonObject(body) || body.type === 'error' || !Array.isArray(body.content)) {
      throw answeredFailure(isJsonObject(body) ? (body.error ?? body) : 'the reply is no message');
    }
    this.#take(body);
    objectsOf(body.content).forEach((block, index) => {
      this.#begin(index, block);
    });
  }

  finish(): ModelOutput {
    if (this.#stopReason === undefined) throw new GatewayFailure('lost', 'the stream ended without a stop_reason');
    const blocks = [...this.#blocks.entries()].sort(([a], [b]) => a - b).map(([, block]) => block);
    const textOf = (type: string) => blocks.map((block) => (block.type === type ? block.text : '')).join('');
    const calls = blocks.flatMap((block) => (block.type === 'tool_use' ? [this.#toCall(block)] : []));
    const content = textOf('text');
    return {
      message: {
        role: 'assistant',
        content: content === '' && calls.length > 0 ? null : content,
        reasoning: textOf('thinking') || null,
        tool_calls: calls,
      },
      finishReason: FINISH_REASONS.get(this.#stopReason) ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
      usage: toUsage(this.#usage),
      tokenIds: null,
      logprobs: null,
      id: textOrEmpty(this.#head.id) || null,
      model: textOrEmpty(this.#head.model) || null,
    };
  }

  #take(message: JsonObject): void {
    this.#head = { ...message, ...this.#head };
    if (isJsonObject(message.usage)) this.#usage = { ...this.#usage, ...message.usage };
    if (typeof message.stop_reason === 'string') this.#stopReason = message.stop_reason;
  }

  #begin(index: number, block: JsonObject): void {
    if (this.#blocks.size === MAX_BLOCKS) {
      throw new GatewayFailure('answered', `the response has more than ${MAX_BLOCKS} blocks`);
    }
    const type = textOrEmpty(block.type);
    const text = textOrEmpty(type === 'thinking' ? block.thinking : block.text);
    this.#blocks.set(index, { type, text, input: '', block });
    this.#tell(type, text);
  }

  #addPiece(index: number, delta: JsonObject): void {
    const block = this.#blocks.get(index);
    if (block === undefined) return;
    const text = textOrEmpty(delta.text) + textOrEmpty(delta.thinking);
    block.text += text;
    block.input += textOrEmpty(delta.partial_json);
    this.#tell(block.type, text);
  }

  #tell(type: string, text: string): void {
    if (text === '') return;
    if (type === 'text') this.#onDelta({ content: text });
    if (type === 'thinking') this.#onDelta({ reasoning: text });
  }

  #toCall({ block, input }: Block): ToolCall {
    const args = input === '' ? toArguments(block.input) : parseArguments(input);
    return { id: textOrEmpty(block.id), name: this.#names.toName(textOrEmpty(block.name)), ...args };
  }
}

interface Block {
  readonly type: string;
  readonly block: JsonObject;
  text: string;
  input: string;
}

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries({
    max_tokens: 'length',
    model_context_window_exceeded: 'length',
    refusal: 'content_filter',
  }),
);

/** Anthropic counts tokens read from or written to a cache separately. */
function toUsage(usage: JsonObject): Usage {
  const cached = countOf(usage.cache_read_input_tokens);
  const prompt = countOf(usage.input_tokens) + countOf(usage.cache_creation_input_tokens) + cached;
  const completion = countOf(usage.output_tokens);
  return {
    ...NO_USAGE,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    cached_tokens: cached,
  };
}

function countOf(value: unknown): number {
  return typeof value === 'number' && value >= 0 ? Math.floor(value) : 0;
}
