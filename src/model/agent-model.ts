import type { BoundaryError } from '../contract/errors.ts';
import type { JsonObject } from '../contract/json.ts';
import type { Dialect, DialectName, DialectRequest, DialectStream, ReplyHead } from '../dialects/dialect.ts';
import type { ModelDelta, ModelOutput } from '../dialects/model-output.ts';
import type { CallGuard, OnWait } from './call-guard.ts';
import type { ModelResponse } from './chat-model.ts';
import type { GatewayClient } from './gateway-client.ts';
import { type GatewayFailure, toGatewayFailure } from './gateway-failure.ts';
import type { Fetch } from './gateway-fetch.ts';
import { withWatch } from './guarded-tries.ts';
import { type Prices, withCost } from './prices.ts';
import { relayCall } from './relay-call.ts';
import { type RetryTiming, systemTiming } from './retries.ts';
import { translateCall } from './translate-call.ts';

/** A model as an agent at a seat asks it. It holds nothing open between calls. */
export interface AgentModel {
  readonly name: string;
  /** Whether its gateway speaks a protocol itself, so that requests go to it as they are. */
  speaks(dialect: DialectName): boolean;
  /** @throws AgentCallError; the reason of the signal; BoundaryError of the guard. */
  ask(call: AgentCall): Promise<AgentAnswer>;
}

export interface AgentCall {
  readonly dialect: Dialect;
  readonly request: DialectRequest;
  readonly head: ReplyHead;
  /** Of the agent's request. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Fields of chat completions that win over the agent's own. */
  readonly sampling: JsonObject;
  readonly signal: AbortSignal;
  /** Gets what the agent may have of a streamed answer, as it comes. */
  send(piece: string | Uint8Array): void;
  /** Told of the stream that writes the answer, where the gateway's own is not handed on. */
  readonly onStream?: ((stream: DialectStream) => void) | undefined;
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
  readonly onWait?: OnWait | undefined;
}

export interface AgentAnswer {
  readonly response: ModelResponse;
  /** The end of a stream, or all of an answer that is none: for the agent once the step is stored. */
  readonly rest: string | Uint8Array;
}

/** An answer before it has a price. */
export interface CalledAnswer {
  readonly output: ModelOutput;
  readonly rest: string | Uint8Array;
}

/** The gateway of a model, as calls of agents need to know it. */
export interface AgentGateway {
  readonly client: GatewayClient;
  /** Never to be seen in a message. */
  readonly keys: readonly string[];
  readonly prices: Prices | undefined;
  /** Undefined for a client that somebody else has made: it speaks chat completions alone, and bytes cannot be relayed. */
  readonly address:
    | {
        /** Without a slash at the end. */
        readonly baseUrl: string;
        readonly apiKey: string | undefined;
        readonly dialects: readonly DialectName[];
        readonly fetch: Fetch | undefined;
      }
    | undefined;
}

export interface AgentModelOptions extends AgentGateway {
  /** Decides over each try; without one a call has one alone. */
  readonly guard?: CallGuard | undefined;
  readonly idleTimeoutMs?: number | undefined;
  readonly timing?: RetryTiming | undefined;
}

/** A call that brought no answer: the agent is told, and decides itself whether it asks again. */
export class AgentCallError extends Error {
  override readonly name = 'AgentCallError';
  /** For the agent: the gateway's own where it is 429, 5xx, or about the request; 502 for a lost connection, 504 for silence. */
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(error: BoundaryError, failure: GatewayFailure, now: number) {
    super(error.message, { cause: error });
    this.code = error.code;
    this.status = statusFor(failure);
    const afterMs = failure.retryAfterMs(now);
    this.headers = afterMs === undefined ? {} : { 'retry-after': String(Math.ceil(afterMs / 1_000)) };
  }
}

/** A call of an agent in the gateway's own protocol, or in chat completions where it does not speak the agent's. */
export function createAgentModel(name: string, options: AgentModelOptions): AgentModel {
  const { address, guard, prices, keys, timing = systemTiming } = options;
  const speaks = (dialect: DialectName) => address?.dialects.includes(dialect) === true;
  return {
    name,
    speaks,
    async ask(call) {
      const { request, signal, onWait, sampling } = call;
      let characters = 0;
      const counted: AgentCall = {
        ...call,
        onDelta: (delta) => {
          characters += (delta.content ?? '').length + (delta.reasoning ?? '').length;
          call.onDelta?.(delta);
        },
      };
      let isBegun = false;
      const send = (piece: string | Uint8Array) => {
        isBegun ||= piece.length > 0;
        call.send(piece);
      };
      const attempt = async (maxTokens: number | null) => {
        characters = 0;
        const limited = maxTokens === null ? sampling : { max_tokens: maxTokens, ...request.settings, ...sampling };
        const once = { ...counted, send, sampling: limited };
        const { output, rest } = await (address !== undefined && speaks(request.dialect)
          ? relayCall(name, once, { ...options, address })
          : translateCall(name, once, options));
        return { rest, output, usage: withCost(output.usage, prices) };
      };
      const toError = (failure: GatewayFailure, tries: number) =>
        new AgentCallError(failure.toBoundaryError(name, tries, keys), failure, timing.now());
      const watch = guard?.begin({ body: toGuarded(call), signal, onWait });
      if (watch !== undefined) {
        const tries = { signal, toFailure: toGatewayFailure, characters: () => characters, toError };
        const { value, retries } = await withWatch(watch, attempt, { ...tries, mayRetry: () => !isBegun });
        return toAnswer(value, retries);
      }
      try {
        return toAnswer(await attempt(null), 0);
      } catch (thrown) {
        signal.throwIfAborted();
        throw toError(toGatewayFailure(thrown), 1);
      }
    },
  };
}

function toAnswer(
  { output, usage, rest }: CalledAnswer & { readonly usage: ModelOutput['usage'] },
  retries: number,
): AgentAnswer {
  return { response: { ...output, usage, retries }, rest };
}

/** As whoever estimates the cost of a call reads it. */
function toGuarded({ request, sampling }: AgentCall): object {
  return { messages: request.messages, tools: request.tools, ...request.settings, ...sampling };
}

/** A key that the gateway refuses is ours: the agent's own is right, and it must not look for another. */
function statusFor({ kind, details: { status } }: GatewayFailure): number {
  if (kind === 'silent') return 504;
  if (kind === 'lost' || status === undefined) return 502;
  if (status === 401 || status === 403 || status === 404 || status === 409) return 502;
  return status;
}
