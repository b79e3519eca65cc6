import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import type { Dialect, DialectRequest, RelayedRequest, RelayOptions } from '../dialect.ts';
import { EventTap } from '../event-tap.ts';
import { presentFields } from '../request-fields.ts';
import { GeminiAssembly } from './gemini-assembly.ts';
import { GeminiEventStream } from './gemini-event-stream.ts';
import { fieldOf } from './gemini-fields.ts';
import { readGeminiRequest } from './read-gemini-request.ts';
import { writeGeminiError, writeGeminiModel, writeGeminiModels, writeGeminiResponse } from './write-gemini.ts';

/** Gemini's `generateContent` and `streamGenerateContent`. */
export const geminiDialect: Dialect = {
  name: 'gemini',
  readRequest: readGeminiRequest,
  toSampling: ({ body, settings }) => {
    const config = fieldOf(body, 'generationConfig');
    const given = isJsonObject(config) ? config : {};
    return {
      ...settings,
      ...presentFields({
        temperature: given.temperature,
        seed: given.seed,
        top_p: fieldOf(given, 'topP'),
        top_k: fieldOf(given, 'topK'),
        presence_penalty: fieldOf(given, 'presencePenalty'),
        frequency_penalty: fieldOf(given, 'frequencyPenalty'),
      }),
    };
  },
  writeResponse: writeGeminiResponse,
  createStream: (request, head) => new GeminiEventStream(request, head),
  writeError: writeGeminiError,
  writeModels: writeGeminiModels,
  writeModel: writeGeminiModel,
  writeTokenCount: (tokens) => ({ totalTokens: tokens }),
  toRelayed,
  readResponse: ({ names }, body) => {
    const assembly = new GeminiAssembly(names);
    assembly.add(body);
    return assembly.finish();
  },
  createStreamReader: ({ names }) => new EventTap((onDelta) => new GeminiAssembly(names, onDelta)),
};

function toRelayed({ body, isStreamed }: DialectRequest, { model, sampling, apiKey }: RelayOptions): RelayedRequest {
  const { generationConfig: _camel, generation_config: _snake, ...rest } = body;
  const config = fieldOf(body, 'generationConfig');
  const verb = isStreamed ? ':streamGenerateContent?alt=sse' : ':generateContent';
  return {
    path: `/models/${encodeURIComponent(model)}${verb}`,
    headers: apiKey === undefined ? {} : { 'x-goog-api-key': apiKey },
    body: { ...rest, generationConfig: { ...(isJsonObject(config) ? config : {}), ...toOwnSampling(sampling) } },
  };
}

/** Keeps only fields of the protocol, because the gateway refuses others. */
function toOwnSampling(sampling: JsonObject): JsonObject {
  const { temperature, seed, stop } = sampling;
  return presentFields({
    temperature,
    seed,
    topP: sampling.top_p,
    topK: sampling.top_k,
    maxOutputTokens: sampling.max_completion_tokens ?? sampling.max_tokens,
    stopSequences: typeof stop === 'string' ? [stop] : stop,
    presencePenalty: sampling.presence_penalty,
    frequencyPenalty: sampling.frequency_penalty,
  });
}
