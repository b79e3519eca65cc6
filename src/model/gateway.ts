import { AnswerFailure } from '../dialects/answer-failure.ts';
import { ChatAssembly } from '../dialects/chat/chat-assembly.ts';
import { toGatewayMessages, toGatewayTool } from '../dialects/chat/transcript-to-chat.ts';
import { loopSlices } from '../runtime/loop-slices.ts';
import type { CallGuard } from './call-guard.ts';
import type { ChatModel, ModelRequest, ModelResponse } from './chat-model.ts';
import { readChunks } from './chunk-stream.ts';
import { createGatewayClient, type GatewayClient } from './gateway-client.ts';
import { GatewayFailure, toGatewayFailure } from './gateway-failure.ts';
import type { Fetch } from './gateway-fetch.ts';
import { withWatch } from './guarded-tries.ts';
import { type Prices, withCost } from './prices.ts';
import { type RetryTiming, systemTiming, withRetries } from './retries.ts';
import { DEFAULT_IDLE_TIMEOUT_MS, limitSilence } from './silence-limit.ts';

export type GatewayOptions = (
  | {
      readonly client: GatewayClient;
      /** Keys that no message may show, beside the client's own. */
      readonly keys?: readonly string[];
    }
  | { readonly baseUrl: string; readonly apiKey?: string | undefined; readonly fetch?: Fetch | undefined }
) & {
  /** How long the gateway may send nothing at all, in milliseconds. A run's own time is the request's signal. */
  readonly idleTimeoutMs?: number | undefined;
  readonly timing?: RetryTiming | undefined;
  /** For the cost of a response whose gateway does not tell it. */
  readonly prices?: Prices | undefined;
  /** Tries of a call without a guard. Default 3. */
  readonly maxTries?: number | undefined;
  /** Decides over each try, in place of the retries that a call has else. */
  readonly guard?: CallGuard | undefined;
};

/**
 * A model behind an OpenAI-compatible gateway, or behind any client with `chat.completions.create`. It always asks for
 * a stream and puts the response together itself. It holds nothing open between requests.
 */
export function createGatewayModel(name: string, options: GatewayOptions): ChatModel {
  return new GatewayModel(name, options);
}

class GatewayModel implements ChatModel {
  readonly name: string;
  readonly #client: GatewayClient;
  /** Never to be seen in a message. */
  readonly #keys: readonly string[];
  readonly #idleTimeoutMs: number;
  readonly #timing: RetryTiming;
  readonly #prices: Prices | undefined;
  readonly #guard: CallGuard | undefined;
  readonly #maxTries: number | undefined;
  /** Until the gateway refuses it. */
  #asksForUsage = true;
  /** Newer models of OpenAI refuse the first one, and older servers the second. */
  #limitField: 'max_tokens' | 'max_completion_tokens' = 'max_tokens';

  constructor(name: string, options: GatewayOptions) {
    this.name = name;
    this.#client = 'client' in options ? options.client : createGatewayClient(options);
    this.#keys = keysOf(options);
    this.#idleTimeoutMs = options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
    this.#timing = options.timing ?? systemTiming;
    this.#prices = options.prices;
    this.#guard = options.guard;
    this.#maxTries = options.maxTries;
  }

  async respond(request: ModelRequest): Promise<ModelResponse> {
    const { signal, onDelta, onWait } = request;
    const body = this.#toBody(request);
    let assembly = new ChatAssembly();
    const attempt = async (maxTokens: number | null) => {
      assembly = new ChatAssembly(onDelta);
      return await this.#respondOnce(body, maxTokens, assembly, signal);
    };
    const toError = (failure: GatewayFailure, tries: number) => failure.toBoundaryError(this.name, tries, this.#keys);
    const watch = this.#guard?.begin({ body, signal, onWait });
    const { value, retries } = await (watch === undefined
      ? withRetries(() => attempt(null), {
          signal,
          onWait,
          timing: this.#timing,
          toFailure: toGatewayFailure,
          mayRetry: () => !assembly.hasTokens,
          maxTries: this.#maxTries,
          toError,
        })
      : withWatch(watch, attempt, {
          signal,
          toFailure: toGatewayFailure,
          characters: () => assembly.characters,
          toError,
        }));
    await loopSlices.turn(); // Answers to many sessions may come at one moment.
    return { ...value, retries };
  }

  #toBody(request: ModelRequest): object {
    const tools = request.tools.map(toGatewayTool);
    // Gateways refuse options of tools where none is offered.
    const { parallel_tool_calls: _parallel, tool_choice: _choice, ...withoutTools } = request.sampling;
    return {
      ...(tools.length > 0 ? request.sampling : withoutTools),
      model: this.name,
      messages: toGatewayMessages(request.messages, request.hasWholeResults),
      ...(tools.length > 0 ? { tools } : {}),
      stream: true,
    };
  }

  /**
   * One try. A gateway that does not know `stream_options`, or the name of the limit of tokens, is asked again without,
   * which is no retry.
   */
  async #respondOnce(
    body: object,
    maxTokens: number | null,
    assembly: ChatAssembly,
    signal: AbortSignal,
  ): Promise<Omit<ModelResponse, 'retries'>> {
    const { max_tokens: asked, ...rest }: { readonly max_tokens?: unknown } = body;
    const wanted = maxTokens ?? asked ?? null;
    const limit = wanted === null ? {} : { [this.#limitField]: wanted };
    const usage = this.#asksForUsage ? { stream_options: { include_usage: true } } : {};
    try {
      const response = await this.#stream({ ...rest, ...limit, ...usage }, assembly, signal);
      return { ...response, usage: withCost(response.usage, this.#prices) };
    } catch (thrown) {
      signal.throwIfAborted();
      if (!this.#adaptTo(toGatewayFailure(thrown), wanted !== null)) throw thrown;
      return await this.#respondOnce(body, maxTokens, assembly, signal);
    }
  }

  /** Whether a refusal names a field that need not be sent so. */
  #adaptTo({ message, details }: GatewayFailure, hasLimit: boolean): boolean {
    if (details.status !== 400 && details.status !== 422) return false;
    if (this.#asksForUsage && /stream_options|include_usage/.test(message)) {
      this.#asksForUsage = false;
      return true;
    }
    if (!hasLimit || this.#limitField !== 'max_tokens' || !/max_completion_tokens/.test(message)) return false;
    this.#limitField = 'max_completion_tokens';
    return true;
  }

  async #stream(body: object, assembly: ChatAssembly, signal: AbortSignal): Promise<Omit<ModelResponse, 'retries'>> {
    const limit = limitSilence(signal, this.#idleTimeoutMs);
    try {
      await readChunks(this.#client, body, { ...limit, onChunk: (chunk) => assembly.add(chunk) });
      // Some clients end their stream quietly when they are aborted.
      limit.signal.throwIfAborted();
      limit.end();
    } catch (thrown) {
      limit.cut();
      signal.throwIfAborted();
      // The model had said all: what is lost is at most the usage.
      const isFailure = thrown instanceof GatewayFailure || thrown instanceof AnswerFailure;
      const isAnswered = isFailure && thrown.kind === 'answered';
      if (!assembly.isFinished || isAnswered) throw limit.silence ?? thrown;
    }
    return assembly.finish();
  }
}

function keysOf(options: GatewayOptions): readonly string[] {
  const key: unknown = Reflect.get('client' in options ? options.client : options, 'apiKey');
  return [...('keys' in options && options.keys ? options.keys : []), ...(typeof key === 'string' ? [key] : [])];
}
