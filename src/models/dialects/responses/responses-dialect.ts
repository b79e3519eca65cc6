import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import { writeOpenAiError, writeOpenAiModel, writeOpenAiModels } from '../chat/write-chat.ts';
import type { Dialect, DialectRequest, RelayedRequest, RelayOptions } from '../dialect.ts';
import { EventTap } from '../event-tap.ts';
import { presentFields } from '../request-fields.ts';
import { readResponsesRequest } from './read-responses-request.ts';
import { ResponsesAssembly } from './responses-assembly.ts';
import { ResponsesEventStream } from './responses-event-stream.ts';
import { writeResponsesResponse } from './write-responses.ts';

/** OpenAI's Responses. */
export const responsesDialect: Dialect = {
  name: 'responses',
  readRequest: readResponsesRequest,
  toSampling: ({ body, settings }) => ({
    ...settings,
    ...presentFields({ temperature: body.temperature, top_p: body.top_p }),
  }),
  writeResponse: writeResponsesResponse,
  createStream: (request, head) => new ResponsesEventStream(request, head),
  writeError: writeOpenAiError,
  writeModels: writeOpenAiModels,
  writeModel: writeOpenAiModel,
  writeTokenCount: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  toRelayed,
  readResponse: ({ names }, body) => {
    const assembly = new ResponsesAssembly(names);
    assembly.addWhole(body);
    return assembly.finish();
  },
  createStreamReader: ({ names }) => new EventTap((onDelta) => new ResponsesAssembly(names, onDelta)),
};

function toRelayed({ body }: DialectRequest, { model, sampling, apiKey }: RelayOptions): RelayedRequest {
  return {
    path: '/responses',
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    body: { ...body, ...toOwnSampling(sampling, body), model },
  };
}

/** Keeps only fields of the protocol, because the gateway refuses others. */
function toOwnSampling(sampling: JsonObject, { reasoning }: JsonObject): JsonObject {
  const { temperature, top_p, max_tokens, max_completion_tokens, reasoning_effort, parallel_tool_calls } = sampling;
  const before = isJsonObject(reasoning) ? reasoning : {};
  return presentFields({
    temperature,
    top_p,
    parallel_tool_calls,
    max_output_tokens: max_completion_tokens ?? max_tokens,
    reasoning: reasoning_effort === undefined ? undefined : { ...before, effort: reasoning_effort },
  });
}
