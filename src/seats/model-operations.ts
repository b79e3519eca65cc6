const JSON_BODY = { 'application/json': { schema: { type: 'object' } } };
const EVENTS = { 'text/event-stream': { schema: { type: 'string' } } };

/** The model addresses in `/openapi.json`. The protocols are described by those who made them. */
export const MODEL_OPERATIONS: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  '/v1/chat/completions': { post: ask('Asks the model of a seat, by OpenAI chat completions') },
  '/v1/responses': { post: ask('Asks the model of a seat, by OpenAI Responses') },
  '/v1/messages': { post: ask('Asks the model of a seat, by Anthropic Messages') },
  '/v1/messages/count_tokens': { post: ask('Estimates the tokens of a request of Anthropic Messages') },
  '/v1beta/models/{model}:generateContent': { post: ask('Asks the model of a seat, by Gemini generateContent') },
  '/v1beta/models/{model}:streamGenerateContent': { post: ask('The same as a stream') },
};

function ask(summary: string): object {
  return {
    summary,
    description: 'Any name of a model leads to that of the run. The key is the secret of the seat.',
    requestBody: { required: true, content: JSON_BODY },
    responses: {
      200: { description: 'The answer, in the form of the protocol', content: { ...JSON_BODY, ...EVENTS } },
      default: { description: 'An error in the form of the protocol', content: JSON_BODY },
    },
  };
}
