import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../../contract/errors.ts';

export interface DocumentedServer {
  /** Path of the MCP endpoint. */
  readonly path: string;
  readonly hasBearerToken: boolean;
  /** With the deprecated pair of addresses. */
  readonly hasSse: boolean;
  readonly hasHelpers: boolean;
}

/** Answers a GET or HEAD with a document. @throws ApiError 405 */
export function answerDocument(request: IncomingMessage, response: ServerResponse, document: object): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    const headers = { allow: 'GET, HEAD' };
    throw new ApiError('method_not_allowed', `${request.method} is not allowed on ${request.url}: GET`, { headers });
  }
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(document));
}

/** Says whether new sessions are taken. @throws ApiError 405, 503 */
export function answerReadiness(request: IncomingMessage, response: ServerResponse, isShuttingDown: boolean): void {
  if (isShuttingDown) {
    throw new ApiError('shutting_down', 'This server is shutting down', { headers: { 'retry-after': '5' } });
  }
  answerDocument(request, response, { status: 'ok' });
}

/** The OpenAPI document: what is behind the MCP endpoint describes itself over MCP. */
export function toOpenApi(
  { name, version }: { readonly name: string; readonly version: string },
  { path, hasBearerToken, hasSse, hasHelpers }: DocumentedServer,
): object {
  return {
    openapi: '3.1.0',
    info: { title: name, version },
    ...(hasBearerToken
      ? { components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } }, security: [{ token: [] }] }
      : {}),
    paths: {
      [path]: {
        post: {
          ...operation('Sends messages of MCP (Streamable HTTP)', {
            200: { description: 'The answer', content: { ...RPC, ...EVENTS } },
            202: { description: 'Taken, where no message is a request' },
          }),
          requestBody: { required: true, content: RPC },
        },
        get: operation('Opens the stream of a session', { 200: { description: 'Messages', content: EVENTS } }),
        delete: operation('Ends a session', { 204: { description: 'Ended' } }),
      },
      ...(hasSse ? SSE_PATHS : {}),
      ...(hasHelpers ? HELPER_PATHS : {}),
      '/healthz': {
        get: { ...operation('Says that the process is up', { 200: { description: 'Up' } }), security: [] },
      },
      '/readyz': {
        get: { ...operation('Says that new sessions are taken', { 200: { description: 'Ready' } }), security: [] },
      },
    },
  };
}

const RPC = { 'application/json': { schema: { type: ['object', 'array'], description: 'JSON-RPC 2.0' } } };
const EVENTS = { 'text/event-stream': { schema: { type: 'string' } } };

const SSE_PATHS = {
  '/sse': { get: operation('Opens a session (HTTP+SSE)', { 200: { description: 'Messages', content: EVENTS } }) },
  '/messages': {
    post: {
      ...operation('Sends messages of MCP (HTTP+SSE)', { 202: { description: 'Taken' } }),
      parameters: [{ name: 'session_id', in: 'query', required: true, schema: { type: 'string' } }],
      requestBody: { required: true, content: RPC },
    },
  },
};

const HELPER_PATHS = Object.fromEntries(
  ['', '/tools', '/resources', '/prompts', '/scenarios'].map((name) => [
    `/svc${name}`,
    {
      get: {
        summary: `Development helpers: ${name === '' ? 'overview' : name.slice(1)}, as an agent sees them`,
        responses: { 200: { description: 'JSON', content: { 'application/json': { schema: { type: 'object' } } } } },
      },
    },
  ]),
);

function operation(summary: string, responses: object): object {
  return { summary, responses: { ...responses, default: { description: 'A JSON-RPC error', content: RPC } } };
}
