import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { isJsonObject } from '../../contract/json.ts';
import type { HarnessAuthority } from '../audience.ts';
import { assertBatchLength } from '../batches.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { MODERN_REVISION } from '../session/session-server.ts';
import { readJsonBody } from './body.ts';
import { assertAccepts } from './checks.ts';
import { classify } from './classify.ts';
import { deleteSession, openSessionStream, postInitialize, postInSession } from './legacy.ts';
import { postModern } from './modern.ts';
import type { Sessions } from './sessions.ts';

export interface EndpointOptions {
  readonly sessions: Sessions;
  readonly authority: HarnessAuthority;
  readonly maxBodyBytes: number;
}

/** The MCP endpoint: both eras on one path. @throws Refusal */
export async function serveEndpoint(
  request: IncomingMessage,
  response: ServerResponse,
  caller: string,
  { sessions, authority, maxBodyBytes }: EndpointOptions,
): Promise<void> {
  if (request.method !== 'POST') return serveSession(request, response, caller, sessions);
  assertAccepts(request, ['application/json', 'text/event-stream']);
  const body = await readJsonBody(request, maxBodyBytes);
  try {
    post(request, response, body, caller, { sessions, authority });
  } catch (error) {
    throw error instanceof Refusal ? error.withId(idOf(body)) : error;
  }
}

function post(
  request: IncomingMessage,
  response: ServerResponse,
  body: unknown,
  caller: string,
  { sessions, authority }: Pick<EndpointOptions, 'sessions' | 'authority'>,
): void {
  if (Array.isArray(body)) assertBatchLength(body);
  const route = classify(request, body);
  if (route.kind === 'reject') throw new Refusal(route.httpStatus, route.code, route.message, { data: route.data });
  if (route.kind === 'modern') {
    postModern(request, response, route, sessions, authority, caller);
    return;
  }
  // The classification has checked the shape of every message.
  const messages = body as JSONRPCMessage | JSONRPCMessage[];
  const isHandshake = route.reason === 'initialize' && !Array.isArray(messages);
  if (isHandshake) postInitialize(request, response, messages, sessions, caller);
  else postInSession(request, response, messages, sessions, caller);
}

async function serveSession(
  request: IncomingMessage,
  response: ServerResponse,
  caller: string,
  sessions: Sessions,
): Promise<void> {
  const isKnown = request.method === 'GET' || request.method === 'DELETE';
  if (!isKnown || request.headers['mcp-protocol-version'] === MODERN_REVISION) {
    const allow = isKnown ? 'POST' : 'POST, GET, DELETE';
    throw new Refusal(405, RPC_CODE.refused, `${request.method} is not allowed here: ${allow}`, { headers: { allow } });
  }
  if (request.method === 'DELETE') return deleteSession(request, response, sessions, caller);
  assertAccepts(request, ['text/event-stream']);
  openSessionStream(request, response, sessions, caller);
}

/** Id of the request in a body, if the body is a request. */
export function idOf(body: unknown): string | number | undefined {
  const id = isJsonObject(body) ? body.id : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}
