import { loopSlices } from '../runtime/loop-slices.ts';
import type { ChatModel, ModelRequest, ModelResponse } from './chat-model.ts';
import { readChunks } from './chunk-stream.ts';
import { createGatewayClient, type GatewayClient } from './gateway-client.ts';
import { GatewayFailure, toGatewayFailure } from './gateway-failure.ts';
import type { Fetch } from './gateway-fetch.ts';
import { type RetryTiming, systemTiming, withRetries } from './retries.ts';
import { StreamAssembly } from './stream-assembly.ts';
import { toGatewayMessages, toGatewayTool } from './transcript-to-gateway.ts';

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
  /** Until the gateway refuses it. */
  #asksForUsage = true;

  constructor(name: string, options: GatewayOptions) {
    this.name = name;
    this.#client = 'client' in options ? options.client : createGatewayClient(options);
    this.#keys = keysOf(options);
    this.#idleTimeoutMs = options.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS;
    this.#timing = options.timing ?? systemTiming;
  }

  async respond(request: ModelRequest): Promise<ModelResponse> {
    const body = this.#toBody(request);
    let assembly = new StreamAssembly();
    const { value, retries } = await withRetries(
      async () => {
        assembly = new StreamAssembly(request.onDelta);
        return this.#respondOnce(body, assembly, request.signal);
      },
      {
        signal: request.signal,
        timing: this.#timing,
        toFailure: toGatewayFailure,
        mayRetry: () => !assembly.hasTokens,
        toError: (failure, tries) => failure.toBoundaryError(this.name, tries, this.#keys),
      },
    );
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

  /** One try. A gateway that does not know `stream_options` is asked again without, which is no retry. */
  async #respondOnce(
    body: object,
    assembly: StreamAssembly,
    signal: AbortSignal,
  ): Promise<Omit<ModelResponse, 'retries'>> {
    if (!this.#asksForUsage) return this.#stream(body, assembly, signal);
    try {
      return await this.#stream({ ...body, stream_options: { include_usage: true } }, assembly, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const { message, details } = toGatewayFailure(thrown);
      const isRefused = details.status === 400 || details.status === 422;
      if (!isRefused || !/stream_options|include_usage/.test(message)) throw thrown;
      this.#asksForUsage = false;
      return this.#stream(body, assembly, signal);
    }
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
