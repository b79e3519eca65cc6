const JSON_BODY = { 'application/json': { schema: { type: 'object', additionalProperties: true } } };
const EVENTS = { 'text/event-stream': { schema: { type: 'string' } } };

const MODEL = { name: 'model', in: 'path', required: true, schema: { type: 'string' } };

/** The model addresses in `/openapi.json`. Their protocols are documented by their providers. */
export const MODEL_OPERATIONS: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  '/v1/chat/completions': { post: ask('Asks the model of a seat, by OpenAI chat completions') },
  '/v1/responses': { post: ask('Asks the model of a seat, by OpenAI Responses') },
  '/v1/messages': { post: ask('Asks the model of a seat, by Anthropic Messages') },
  '/v1/messages/count_tokens': { post: ask('Estimates the tokens of a request of Anthropic Messages') },
  '/v1beta/models/{model}:generateContent': {
    post: ask('Asks the model of a seat, by Gemini generateContent', [MODEL]),
  },
  '/v1beta/models/{model}:streamGenerateContent': { post: ask('The same as a stream', [MODEL]) },
};

function ask(summary: string, parameters: readonly object[] = []): object {
  return {
    ...(parameters.length === 0 ? {} : { parameters }),
    summary,
    description: 'Any name of a model leads to that of the run. The key is the secret of the seat.',
    requestBody: { required: true, content: JSON_BODY },
    responses: {
      200: { description: 'The answer, in the form of the protocol', content: { ...JSON_BODY, ...EVENTS } },
      default: { description: 'An error in the form of the protocol', content: JSON_BODY },
    },
  };
}
