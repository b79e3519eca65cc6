import type { JsonObject } from '../../../contract/json.ts';
import type { Dialect, DialectRequest, RelayedRequest, RelayOptions } from '../dialect.ts';
import { EventTap } from '../event-tap.ts';
import { presentFields } from '../request-fields.ts';
import { MessagesAssembly } from './messages-assembly.ts';
import { MessagesEventStream } from './messages-event-stream.ts';
import { readMessagesRequest } from './read-messages-request.ts';
import {
  writeMessagesError,
  writeMessagesModel,
  writeMessagesModels,
  writeMessagesResponse,
} from './write-messages.ts';

/** Anthropic's Messages. */
export const messagesDialect: Dialect = {
  name: 'messages',
  readRequest: readMessagesRequest,
  toSampling: ({ body, settings }) => ({
    ...settings,
    ...presentFields({ temperature: body.temperature, top_p: body.top_p, top_k: body.top_k }),
  }),
  writeResponse: writeMessagesResponse,
  createStream: (request, head) => new MessagesEventStream(request, head),
  writeError: writeMessagesError,
  writeModels: writeMessagesModels,
  writeModel: writeMessagesModel,
  writeTokenCount: (tokens) => ({ input_tokens: tokens }),
  toRelayed,
  readResponse: ({ names }, body) => {
    const assembly = new MessagesAssembly(names);
    assembly.addWhole(body);
    return assembly.finish();
  },
  createStreamReader: ({ names }) => new EventTap((onDelta) => new MessagesAssembly(names, onDelta)),
};

const DEFAULT_VERSION = '2023-06-01';

function toRelayed({ body }: DialectRequest, { model, sampling, apiKey, headers }: RelayOptions): RelayedRequest {
  const version = headers['anthropic-version'];
  const beta = headers['anthropic-beta'];
  return {
    path: '/messages',
    headers: {
      'anthropic-version': typeof version === 'string' ? version : DEFAULT_VERSION,
      ...(typeof beta === 'string' ? { 'anthropic-beta': beta } : {}),
      ...(apiKey === undefined ? {} : { 'x-api-key': apiKey }),
    },
    body: { ...body, ...toOwnSampling(sampling), model },
  };
}

/** Keeps only fields of the protocol, because the gateway refuses others. */
function toOwnSampling({ temperature, top_p, top_k, max_tokens, max_completion_tokens, stop }: JsonObject): JsonObject {
  return presentFields({
    temperature,
    top_p,
    top_k,
    max_tokens: max_completion_tokens ?? max_tokens,
    stop_sequences: typeof stop === 'string' ? [stop] : stop,
  });
}
