import { toGatewayMessages, toGatewayTool } from '../formats/openai-messages.ts';
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
import { StreamAssembly } from './stream-assembly.ts';

/** Just below the 300 s of silence after which Node's own `fetch` gives up. */
const DEFAULT_IDLE_TIMEOUT_MS = 290_000;

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
  }

  async respond(request: ModelRequest): Promise<ModelResponse> {
    const { signal, onDelta, onWait } = request;
    const body = this.#toBody(request);
    let assembly = new StreamAssembly();
    const attempt = async (maxTokens: number | null) => {
      assembly = new StreamAssembly(onDelta);
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
      messages: toGatewayMessages(request.messages),
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
    assembly: StreamAssembly,
    signal: AbortSignal,
  ): Promise<Omit<ModelResponse, 'retries'>> {
    const limit = maxTokens === null ? {} : { [this.#limitField]: maxTokens };
    const usage = this.#asksForUsage ? { stream_options: { include_usage: true } } : {};
    try {
      const response = await this.#stream({ ...body, ...limit, ...usage }, assembly, signal);
      return { ...response, usage: withCost(response.usage, this.#prices) };
    } catch (thrown) {
      signal.throwIfAborted();
      if (!this.#adaptTo(toGatewayFailure(thrown), maxTokens)) throw thrown;
      return await this.#respondOnce(body, maxTokens, assembly, signal);
    }
  }

  /** Whether a refusal names a field that need not be sent so. */
  #adaptTo({ message, details }: GatewayFailure, maxTokens: number | null): boolean {
    if (details.status !== 400 && details.status !== 422) return false;
    if (this.#asksForUsage && /stream_options|include_usage/.test(message)) {
      this.#asksForUsage = false;
      return true;
    }
    if (maxTokens === null || this.#limitField !== 'max_tokens' || !/max_completion_tokens/.test(message)) return false;
    this.#limitField = 'max_completion_tokens';
    return true;
  }

  async #stream(body: object, assembly: StreamAssembly, signal: AbortSignal): Promise<Omit<ModelResponse, 'retries'>> {
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
      const isAnswered = thrown instanceof GatewayFailure && thrown.kind === 'answered';
      if (!assembly.isFinished || isAnswered) throw limit.silence ?? thrown;
    }
    return assembly.finish();
  }
}

interface SilenceLimit {
  /** Aborted with the caller's reason, or with `silence` after too long a silence. */
  readonly signal: AbortSignal;
  readonly silence: GatewayFailure | undefined;
  readonly onSignOfLife: () => void;
  /** Ends the timer and lets go of the caller's signal. */
  end(): void;
  /** Ends, and closes a connection that was not read to its end. */
  cut(): void;
}

function limitSilence(signal: AbortSignal, idleTimeoutMs: number): SilenceLimit {
  const controller = new AbortController();
  let silence: GatewayFailure | undefined;
  const onAbort = () => controller.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => {
    silence = new GatewayFailure('silent', `the gateway sent nothing for ${idleTimeoutMs / 1_000} s`);
    controller.abort(silence);
  }, idleTimeoutMs);
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  };
  return {
    signal: controller.signal,
    get silence() {
      return silence;
    },
    onSignOfLife: () => void timer.refresh(),
    end,
    cut: () => {
      end();
      controller.abort(OVER);
    },
  };
}

/** One for all: an error that is made takes longer than the request that it ends. */
const OVER = new Error('The request is over');

function keysOf(options: GatewayOptions): readonly string[] {
  const key: unknown = Reflect.get('client' in options ? options.client : options, 'apiKey');
  return [...('keys' in options && options.keys ? options.keys : []), ...(typeof key === 'string' ? [key] : [])];
}
