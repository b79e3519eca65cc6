import type { JsonObject } from '../../contract/json.ts';
import type { Dialect, DialectName, DialectRequest, DialectStream, ReplyHead } from '../dialects/dialect.ts';
import type { ModelDelta, ModelOutput } from '../dialects/model-output.ts';
import type { CallGuard, OnWait } from './call-guard.ts';
import type { ModelResponse } from './chat-model.ts';
import type { GatewayClient } from './gateway-client.ts';
import type { Fetch } from './gateway-fetch.ts';
import type { Prices } from './prices.ts';
import type { RetryTiming } from './retries.ts';

/** A model for an agent at a seat. It holds nothing open between calls. */
export interface AgentModel {
  readonly name: string;
  /** True if the gateway speaks a protocol natively, so that requests reach it in that protocol. */
  speaks(dialect: DialectName): boolean;
  /** @throws AgentCallError; the signal's reason; BoundaryError of the guard. */
  ask(call: AgentCall): Promise<AgentAnswer>;
}

export interface AgentCall {
  readonly dialect: Dialect;
  readonly request: DialectRequest;
  readonly head: ReplyHead;
  /** Headers of the agent's request. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Fields of chat completions that take precedence over the agent's. */
  readonly sampling: JsonObject;
  readonly signal: AbortSignal;
  /** Called with each piece of a streamed answer that the agent may have. */
  send(piece: string | Uint8Array): void;
  /** Called with the stream that writes the answer, unless the gateway's own stream is passed on. */
  readonly onStream?: ((stream: DialectStream) => void) | undefined;
  readonly onDelta?: ((delta: ModelDelta) => void) | undefined;
  readonly onWait?: OnWait | undefined;
}

export interface AgentAnswer {
  readonly response: ModelResponse;
  /** End of a stream, or a whole answer that is not streamed. The agent gets it once the step is stored. */
  readonly rest: string | Uint8Array;
}

/** An answer without its cost. */
export interface CalledAnswer {
  readonly output: ModelOutput;
  readonly rest: string | Uint8Array;
}

/** The gateway of a model, for calls of agents. */
export interface AgentGateway {
  readonly client: GatewayClient;
  /** Keys that no message may show. */
  readonly keys: readonly string[];
  readonly prices: Prices | undefined;
  /** Undefined for a client that the caller provided: it speaks only chat completions, and bytes cannot be relayed. */
  readonly address:
    | {
        /** Base address without a slash at the end. */
        readonly baseUrl: string;
        readonly apiKey: string | undefined;
        readonly dialects: readonly DialectName[];
        readonly fetch: Fetch | undefined;
      }
    | undefined;
}

export interface AgentModelOptions extends AgentGateway {
  /** Decides about each try. Without a guard, a call has one try. */
  readonly guard?: CallGuard | undefined;
  readonly idleTimeoutMs?: number | undefined;
  readonly timing?: RetryTiming | undefined;
}
