import type { AssistantMessage, FinishReason, Usage } from '../../contract/chat.ts';
import { BoundaryError } from '../../contract/errors.ts';
import type { Json, JsonObject } from '../../contract/json.ts';
import { NO_USAGE } from '../../models/dialects/model-output.ts';
import type { ChatModel, ModelRequest, ModelResponse } from '../../models/gateway/chat-model.ts';
import { untilAborted } from '../../support/runtime/deadline.ts';

/** A call in a script. `rawArguments` plays a model that sent what is not a JSON object. */
export interface ScriptedCall {
  readonly name: string;
  /** JSON; undefined is left out. */
  readonly arguments?: { readonly [name: string]: Json | undefined };
  readonly rawArguments?: string;
  /** Default `call_1`, `call_2` and so on, over the whole script. */
  readonly id?: string;
}

/** An answer of the model: a text, a response, or an error. */
export type ScriptedResponse =
  | string
  | Error
  | {
      readonly content?: string | null;
      readonly reasoning?: string;
      readonly toolCalls?: readonly ScriptedCall[];
      /** Default `tool_calls` with calls, else `stop`. */
      readonly finishReason?: FinishReason;
      /** Default: no tokens. */
      readonly usage?: Partial<Usage>;
      readonly retries?: number;
    };

/** A list, answered in order, or a function of the request and of how many there have been before it. */
export type Script =
  | readonly ScriptedResponse[]
  | ((request: ModelRequest, index: number) => ScriptedResponse | Promise<ScriptedResponse>);

export interface ScriptedModel extends ChatModel {
  /** The requests to the model, in order, as they were then. */
  readonly requests: readonly ModelRequest[];
}

/**
 * A model for tests that answers from a script, without a gateway.
 *
 * Its `respond` rejects with a `BoundaryError` (`model`, `model_failed`) beyond the end of a list, with an error of the
 * script, and with the reason of the request's signal when that is aborted.
 *
 * @example
 * ```ts
 * const model = scriptedModel([{ toolCalls: [{ name: 'increment', arguments: { by: 2 } }] }, 'The counter shows 3.']);
 * const trace = await env.run('count_to', { target: 3 }, { model });
 * ```
 */
export function scriptedModel(script: Script, options: { readonly name?: string } = {}): ScriptedModel {
  const requests: ModelRequest[] = [];
  let calls = 0;
  const nextId = () => {
    calls += 1;
    return `call_${calls}`;
  };
  return {
    name: options.name ?? 'scripted',
    requests,
    respond: async (request) => {
      request.signal.throwIfAborted();
      requests.push({ ...request, messages: [...request.messages], tools: [...request.tools] });
      const scripted = await untilAborted(nextOf(script, request, requests.length - 1), request.signal);
      if (scripted instanceof Error) throw scripted;
      const response = toResponse(scripted, nextId);
      const { content, reasoning } = response.message;
      if (reasoning) request.onDelta?.({ reasoning });
      if (content) request.onDelta?.({ content });
      return response;
    },
  };
}

async function nextOf(script: Script, request: ModelRequest, index: number): Promise<ScriptedResponse> {
  if (typeof script === 'function') return script(request, index);
  const scripted = script[index];
  if (scripted !== undefined) return scripted;
  const message = `The scripted model has ${script.length} responses and was asked for number ${index + 1}`;
  throw new BoundaryError('model', 'model_failed', message);
}

function toResponse(scripted: Exclude<ScriptedResponse, Error>, nextId: () => string): ModelResponse {
  const response = typeof scripted === 'string' ? { content: scripted } : scripted;
  const calls = (response.toolCalls ?? []).map((call) => ({
    id: call.id ?? nextId(),
    name: call.name,
    arguments: withoutUndefined(call.arguments ?? {}),
    raw_arguments: call.rawArguments ?? null,
  }));
  const message: AssistantMessage = {
    role: 'assistant',
    content: response.content ?? (calls.length > 0 ? null : ''),
    reasoning: response.reasoning ?? null,
    tool_calls: calls,
  };
  return {
    message,
    finishReason: response.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop'),
    usage: { ...NO_USAGE, ...response.usage },
    retries: response.retries ?? 0,
    tokenIds: null,
    logprobs: null,
  };
}

function withoutUndefined(args: NonNullable<ScriptedCall['arguments']>): JsonObject {
  return Object.fromEntries(Object.entries(args).filter((entry): entry is [string, Json] => entry[1] !== undefined));
}
