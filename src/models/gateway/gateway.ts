import { loopSlices } from '../../support/runtime/loop-slices.ts';
import { ChatAssembly } from '../dialects/chat/chat-assembly.ts';
import { toGatewayMessages, toGatewayTool } from '../dialects/chat/transcript-to-chat.ts';
import { GatewayFailure, isRefusal, sendWithUsage, toGatewayFailure } from '../gateway-failure.ts';
import type { CallGuard } from './call-guard.ts';
import type { ChatModel, ModelRequest, ModelResponse } from './chat-model.ts';
import { readChunks } from './chunk-stream.ts';
import { createGatewayClient, type GatewayClient } from './gateway-client.ts';
import type { Fetch } from './gateway-fetch.ts';
import { withWatch } from './guarded-tries.ts';
import { type Prices, withCost } from './prices.ts';
import { createRetryWatch, type RetryTiming, systemTiming } from './retries.ts';
import { DEFAULT_IDLE_TIMEOUT_MS, limitSilence } from './silence-limit.ts';

export type GatewayOptions = (
  | {
      readonly client: GatewayClient;
      /** Keys that no message may show, beside the client's own. */
      readonly keys?: readonly string[];
    }
  | { readonly baseUrl: string; readonly apiKey?: string | undefined; readonly fetch?: Fetch | undefined }
) & {
  /** Milliseconds that the gateway may stay silent. The request's signal limits the whole time. */
  readonly idleTimeoutMs?: number | undefined;
  readonly timing?: RetryTiming | undefined;
  /** Prices for the cost of a response that reports none. */
  readonly prices?: Prices | undefined;
  /** Tries of a call without a guard. Default 3. */
  readonly maxTries?: number | undefined;
  /** Decides about each try, instead of the default retries. */
  readonly guard?: CallGuard | undefined;
  /** Makes the error to throw from the last failure. Default: a `BoundaryError` that names the model. */
  readonly toError?: ((failure: GatewayFailure, tries: number) => Error) | undefined;
};

/**
 * Makes a model behind an OpenAI-compatible gateway, or any client with `chat.completions.create`. It always requests a
 * stream and builds the response itself. It holds nothing open between requests.
 */
export function createGatewayModel(name: string, options: GatewayOptions): ChatModel {
  return new GatewayModel(name, options);
}

class GatewayModel implements ChatModel {
  readonly name: string;
  readonly #client: GatewayClient;
  /** Keys that no message may show. */
  readonly #keys: readonly string[];
  readonly #idleTimeoutMs: number;
  readonly #timing: RetryTiming;
  readonly #prices: Prices | undefined;
  readonly #guard: CallGuard | undefined;
  readonly #maxTries: number | undefined;
  readonly #toError: (failure: GatewayFailure, tries: number) => Error;
  /** True until the gateway refuses `stream_options`. */
  #asksForUsage = true;
  /** Field that limits the tokens. Newer OpenAI models refuse `max_tokens`; older servers refuse the other one. */
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
    this.#toError = options.toError ?? ((failure, tries) => failure.toBoundaryError(this.name, tries, this.#keys));
  }

  async respond(request: ModelRequest): Promise<ModelResponse> {
    const { signal, onDelta, onWait } = request;
    const body = this.#toBody(request);
    let assembly = new ChatAssembly();
    const attempt = async (maxTokens: number | null) => {
      assembly = new ChatAssembly(onDelta);
      return await this.#respondOnce(body, maxTokens, assembly, signal);
    };
    const toError = this.#toError;
    const watch =
      this.#guard?.begin({ body, signal, onWait }) ??
      createRetryWatch({
        signal,
        onWait,
        timing: this.#timing,
        mayRetry: () => !assembly.hasTokens,
        maxTries: this.#maxTries,
        toError,
      });
    const characters = () => assembly.characters;
    const { value, retries } = await withWatch(watch, attempt, { signal, characters, toError });
    await loopSlices.turn(); // Answers to many sessions may come at one moment.
    return { ...value, retries };
  }

  #toBody(request: ModelRequest): object {
    const tools = request.tools.map(toGatewayTool);
    // Gateways refuse tool options without tools.
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
   * Makes one try. A gateway that refuses `stream_options` or the name of the token limit is asked again without it.
   * This does not count as a retry.
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
    const send = (sent: object) => this.#stream(sent, assembly, signal);
    try {
      const response = await sendWithUsage({ ...rest, ...limit, ...usage }, send, () => {
        this.#asksForUsage = false;
      });
      return { ...response, usage: withCost(response.usage, this.#prices) };
    } catch (thrown) {
      signal.throwIfAborted();
      if (!this.#adaptTo(toGatewayFailure(thrown), wanted !== null)) throw thrown;
      return await this.#respondOnce(body, maxTokens, assembly, signal);
    }
  }

  /** Changes the fields that a refusal names. @returns whether one was changed. */
  #adaptTo(failure: GatewayFailure, hasLimit: boolean): boolean {
    if (!isRefusal(failure)) return false;
    if (!hasLimit || this.#limitField !== 'max_tokens' || !/max_completion_tokens/.test(failure.message)) return false;
    this.#limitField = 'max_completion_tokens';
    return true;
  }

  async #stream(body: object, assembly: ChatAssembly, signal: AbortSignal): Promise<Omit<ModelResponse, 'retries'>> {
    const limit = limitSilence(signal, this.#idleTimeoutMs);
    try {
      await readChunks(this.#client, body, { ...limit, onChunk: (chunk) => assembly.add(chunk) });
      // Some clients end their stream without an error when they are aborted.
      limit.signal.throwIfAborted();
      limit.end();
    } catch (thrown) {
      limit.cut();
      signal.throwIfAborted();
      // The model had finished, so at most the usage is lost.
      const isAnswered = thrown instanceof GatewayFailure && thrown.kind === 'answered';
      if (!assembly.isFinished || isAnswered) throw limit.silence ?? thrown;
    }
    return assembly.finish();
  }
}

function keysOf(options: GatewayOptions): readonly string[] {
  const key: unknown = Reflect.get('client' in options ? options.client : options, 'apiKey');
  return [...('keys' in options && options.keys ? options.keys : []), ...(typeof key === 'string' ? [key] : [])];
}
