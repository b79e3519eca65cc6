import type { FinishReason, ToolCall, Usage } from '../../../contract/chat.ts';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import { answeredFailure, GatewayFailure } from '../../gateway-failure.ts';
import { toArguments } from '../call-arguments.ts';
import type { EventAssembly } from '../event-tap.ts';
import { type ModelDelta, type ModelOutput, NO_USAGE } from '../model-output.ts';
import { objectsOf, textOrEmpty } from '../request-fields.ts';
import type { ToolNames } from '../tool-names.ts';

/** Most calls of one response. */
const MAX_CALLS = 1_000;

/** Builds one response from the chunks of a Gemini stream. A whole answer is one chunk. */
export class GeminiAssembly implements EventAssembly {
  readonly #names: ToolNames;
  readonly #onDelta: (delta: ModelDelta) => void;
  readonly #calls: ToolCall[] = [];
  #content = '';
  #reasoning = '';
  #finishReason: string | undefined;
  #usage: JsonObject = {};
  #id: string | null = null;
  #model: string | null = null;

  constructor(names: ToolNames, onDelta: (delta: ModelDelta) => void = () => {}) {
    this.#names = names;
    this.#onDelta = onDelta;
  }

  add(received: unknown): boolean {
    const chunk: unknown = Array.isArray(received) ? received[0] : received;
    if (!isJsonObject(chunk)) return false;
    if (isJsonObject(chunk.error)) throw answeredFailure(chunk.error);
    this.#id ??= textOrEmpty(chunk.responseId) || null;
    this.#model ??= textOrEmpty(chunk.modelVersion) || null;
    if (isJsonObject(chunk.usageMetadata)) this.#usage = { ...this.#usage, ...chunk.usageMetadata };
    const [candidate] = objectsOf(chunk.candidates);
    const feedback = chunk.promptFeedback;
    // A blocked prompt has no candidate.
    if (isJsonObject(feedback) && typeof feedback.blockReason === 'string') this.#finishReason ??= 'SAFETY';
    if (candidate !== undefined) this.#addCandidate(candidate);
    return this.#finishReason !== undefined;
  }

  finish(): ModelOutput {
    if (this.#finishReason === undefined) throw new GatewayFailure('lost', 'the answer ended without a finishReason');
    const hasCalls = this.#calls.length > 0;
    return {
      message: {
        role: 'assistant',
        content: this.#content === '' && hasCalls ? null : this.#content,
        reasoning: this.#reasoning || null,
        tool_calls: this.#calls,
      },
      finishReason: FINISH_REASONS.get(this.#finishReason) ?? (hasCalls ? 'tool_calls' : 'stop'),
      usage: toUsage(this.#usage),
      tokenIds: null,
      logprobs: null,
      id: this.#id,
      model: this.#model,
    };
  }

  #addCandidate({ content, finishReason }: JsonObject): void {
    if (typeof finishReason === 'string' && finishReason !== '') this.#finishReason = finishReason;
    for (const part of objectsOf(isJsonObject(content) ? content.parts : undefined)) {
      if (isJsonObject(part.functionCall)) this.#addCall(part.functionCall);
      else this.#addText(textOrEmpty(part.text), part.thought === true);
    }
  }

  #addText(text: string, isThought: boolean): void {
    if (text === '') return;
    if (isThought) this.#reasoning += text;
    else this.#content += text;
    this.#onDelta(isThought ? { reasoning: text } : { content: text });
  }

  #addCall(call: JsonObject): void {
    if (this.#calls.length === MAX_CALLS) {
      throw new GatewayFailure('answered', `the response has more than ${MAX_CALLS} tool calls`);
    }
    const id = textOrEmpty(call.id) || `call_${this.#calls.length + 1}`;
    this.#calls.push({ id, name: this.#names.toName(textOrEmpty(call.name)), ...toArguments(call.args) });
  }
}

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries({
    MAX_TOKENS: 'length',
    SAFETY: 'content_filter',
    RECITATION: 'content_filter',
    BLOCKLIST: 'content_filter',
    PROHIBITED_CONTENT: 'content_filter',
    SPII: 'content_filter',
    IMAGE_SAFETY: 'content_filter',
  }),
);

/** Gemini counts thoughts separately from the candidates' tokens. */
function toUsage(usage: JsonObject): Usage {
  const prompt = countOf(usage.promptTokenCount) + countOf(usage.toolUsePromptTokenCount);
  const reasoning = countOf(usage.thoughtsTokenCount);
  const completion = countOf(usage.candidatesTokenCount) + reasoning;
  return {
    ...NO_USAGE,
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: countOf(usage.totalTokenCount) || prompt + completion,
    cached_tokens: countOf(usage.cachedContentTokenCount),
    reasoning_tokens: reasoning,
  };
}

function countOf(value: unknown): number {
  return typeof value === 'number' && value >= 0 ? Math.floor(value) : 0;
}
