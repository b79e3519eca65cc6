import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../contract/errors.ts';

export interface DocumentedServer {
  readonly name: string;
  readonly version: string;
  /** Of the MCP endpoint. */
  readonly path: string;
  readonly hasBearerToken: boolean;
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

/** The OpenAPI document: what is behind the MCP endpoint describes itself over MCP. */
export function toOpenApi({ name, version, path, hasBearerToken }: DocumentedServer): object {
  const rpc = { 'application/json': { schema: { type: ['object', 'array'], description: 'JSON-RPC 2.0' } } };
  const events = { 'text/event-stream': { schema: { type: 'string' } } };
  const failed = { description: 'A JSON-RPC error', content: rpc };
  const operation = (summary: string, responses: object) => ({ summary, responses: { ...responses, default: failed } });
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
            200: { description: 'The answer', content: { ...rpc, ...events } },
            202: { description: 'Taken, where no message is a request' },
          }),
          requestBody: { required: true, content: rpc },
        },
        get: operation('Opens the stream of a session', { 200: { description: 'Messages', content: events } }),
        delete: operation('Ends a session', { 204: { description: 'Ended' } }),
      },
      '/healthz': {
        get: { ...operation('Says that the process is up', { 200: { description: 'Up' } }), security: [] },
      },
    },
  };
}
