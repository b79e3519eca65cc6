const RPC = { 'application/json': { schema: { type: ['object', 'array'], description: 'JSON-RPC 2.0' } } };
const EVENTS = { 'text/event-stream': { schema: { type: 'string' } } };

/** The MCP endpoint in `/openapi.json`. The environment behind it describes itself over MCP. */
export const ENDPOINT_OPERATIONS = {
  post: {
    ...operation('Sends messages of MCP (Streamable HTTP)', {
      200: { description: 'The answer', content: { ...RPC, ...EVENTS } },
      202: { description: 'Taken, where no message is a request' },
    }),
    requestBody: { required: true, content: RPC },
  },
  get: operation('Opens the stream of a session', { 200: { description: 'Messages', content: EVENTS } }),
  delete: operation('Ends a session', { 204: { description: 'Ended' } }),
};

/** The event stream of the deprecated transport. */
export const SSE_OPERATIONS = {
  get: operation('Opens a session (HTTP+SSE)', { 200: { description: 'Messages', content: EVENTS } }),
};

/** The address of the deprecated transport that receives messages. */
export const MESSAGES_OPERATIONS = {
  post: {
    ...operation('Sends messages of MCP (HTTP+SSE)', { 202: { description: 'Taken' } }),
    parameters: [{ name: 'session_id', in: 'query', required: true, schema: { type: 'string' } }],
    requestBody: { required: true, content: RPC },
  },
};

function operation(summary: string, responses: object): object {
  return { summary, responses: { ...responses, default: { description: 'A JSON-RPC error', content: RPC } } };
}
