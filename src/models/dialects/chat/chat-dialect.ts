import { samplingOf } from '../../../contract/chat-completions.ts';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import type { Dialect, DialectRequest, RelayedRequest, RelayOptions } from '../dialect.ts';
import { EventTap } from '../event-tap.ts';
import type { ModelDelta, ModelOutput } from '../model-output.ts';
import { ChatAssembly } from './chat-assembly.ts';
import { ChatEventStream } from './chat-event-stream.ts';
import { readChatRequest } from './read-chat-request.ts';
import { writeChatResponse, writeOpenAiError, writeOpenAiModel, writeOpenAiModels } from './write-chat.ts';

/** OpenAI's chat completions. */
export const chatDialect: Dialect = {
  name: 'chat',
  readRequest: readChatRequest,
  toSampling: ({ body }) => samplingOf(body),
  writeResponse: writeChatResponse,
  createStream: (request, head) => new ChatEventStream(request, head),
  writeError: writeOpenAiError,
  writeModels: writeOpenAiModels,
  writeModel: writeOpenAiModel,
  writeTokenCount: (tokens) => ({ object: 'chat.completion.input_tokens', input_tokens: tokens }),
  toRelayed,
  readResponse: (request, body) => {
    const assembly = new ChatAssembly();
    assembly.add(body);
    return withNames(assembly.finish(), request);
  },
  createStreamReader: (request) => new EventTap((onDelta) => new ChatEvents(request, onDelta)),
};

/**
 * Prepares the request for the gateway. It always asks for the usage. The agent may get one more chunk, which the
 * format allows.
 */
function toRelayed({ body, isStreamed }: DialectRequest, { model, sampling, apiKey }: RelayOptions): RelayedRequest {
  const options = isJsonObject(body.stream_options) ? body.stream_options : {};
  const streamOptions: JsonObject = isStreamed ? { stream_options: { ...options, include_usage: true } } : {};
  // Both fields set the same limit, and the run's value takes precedence.
  const { max_tokens, max_completion_tokens, ...rest } = body;
  const ownLimit = sampling.max_tokens === undefined && sampling.max_completion_tokens === undefined;
  const limits = {
    ...(max_tokens === undefined ? {} : { max_tokens }),
    ...(max_completion_tokens === undefined ? {} : { max_completion_tokens }),
  };
  return {
    path: '/chat/completions',
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    body: { ...rest, ...(ownLimit ? limits : {}), ...sampling, model, ...streamOptions },
  };
}

/** Reads the events of a stream. The event with `finish_reason` ends the answer. */
class ChatEvents {
  readonly #request: DialectRequest;
  readonly #assembly: ChatAssembly;

  constructor(request: DialectRequest, onDelta: (delta: ModelDelta) => void) {
    this.#request = request;
    this.#assembly = new ChatAssembly(onDelta);
  }

  add(data: unknown): boolean {
    if (data === undefined) return true;
    this.#assembly.add(data);
    return this.#assembly.isFinished;
  }

  finish(): ModelOutput {
    return withNames(this.#assembly.finish(), this.#request);
  }
}

/** Gives calls their internal names, because a gateway with this dialect uses the agent's names. */
function withNames(output: ModelOutput, { names }: DialectRequest): ModelOutput {
  const { message } = output;
  const tool_calls = message.tool_calls.map((call) => ({ ...call, name: names.toName(call.name) }));
  return { ...output, message: { ...message, tool_calls } };
}
