import type { BoundaryError } from '../../contract/errors.ts';
import type { DialectName } from '../dialects/dialect.ts';
import type { ModelOutput } from '../dialects/model-output.ts';
import type { GatewayFailure } from '../gateway-failure.ts';
import type { AgentAnswer, AgentCall, AgentModel, AgentModelOptions, CalledAnswer } from './agent-call.ts';
import { withWatch } from './guarded-tries.ts';
import { withCost } from './prices.ts';
import { relayCall } from './relay-call.ts';
import { createRetryWatch, systemTiming } from './retries.ts';
import { translateCall } from './translate-call.ts';

/** A call without an answer. The agent gets the error and decides itself whether to ask again. */
export class AgentCallError extends Error {
  override readonly name = 'AgentCallError';
  /**
   * Status for the agent: the gateway's own for 429, 5xx and request errors; 502 for a lost connection, 504 for
   * silence.
   */
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

/** Makes a model that is asked in the agent's protocol if the gateway speaks it, and otherwise in chat completions. */
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
      const mayRetry = () => !isBegun;
      // Without a guard the agent itself decides whether it tries again.
      const watch =
        guard?.begin({ body: toGuarded(call), signal, onWait }) ??
        createRetryWatch({ signal, timing, maxTries: 1, mayRetry, toError });
      const tries = { signal, characters: () => characters, mayRetry, toError };
      const { value, retries } = await withWatch(watch, attempt, tries);
      return toAnswer(value, retries);
    },
  };
}

function toAnswer(
  { output, usage, rest }: CalledAnswer & { readonly usage: ModelOutput['usage'] },
  retries: number,
): AgentAnswer {
  return { response: { ...output, usage, retries }, rest };
}

/** The body that the guard uses to estimate the cost of a call. */
function toGuarded({ request, sampling }: AgentCall): object {
  return { messages: request.messages, tools: request.tools, ...request.settings, ...sampling };
}

/** A refused gateway key is Proctor's, so the agent must not think that its own key is wrong. */
function statusFor({ kind, details: { status } }: GatewayFailure): number {
  if (kind === 'silent') return 504;
  if (kind === 'lost' || status === undefined) return 502;
  if (status === 401 || status === 403 || status === 404 || status === 409) return 502;
  return status;
}
