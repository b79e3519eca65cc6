import type { JsonObject } from '../contract/json.ts';
import type { Dialect, DialectName, DialectRequest, DialectStream, ReplyHead } from '../dialects/dialect.ts';
import type { ModelDelta, ModelOutput } from '../dialects/model-output.ts';
import type { CallGuard, OnWait } from './call-guard.ts';
import type { ModelResponse } from './chat-model.ts';
import type { GatewayClient } from './gateway-client.ts';
import type { Fetch } from './gateway-fetch.ts';
import type { Prices } from './prices.ts';
import type { RetryTiming } from './retries.ts';

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
  /** Headers of the agent's request. */
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
