import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { LOCAL_ACCOUNT } from '../../../contract/names.ts';
import type { Caller, Mount } from '../../../support/http/api/route.ts';
import type { HarnessAuthority } from '../audience.ts';
import type { Report } from '../cleanup.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { MODERN_REVISION } from '../session/session-server.ts';
import { postModern } from './modern.ts';
import { ENDPOINT_OPERATIONS } from './operations.ts';
import { idOf, type Posted, readPosted } from './posted-message.ts';
import { refuseFailed } from './send-refusal.ts';
import { deleteSession, openSessionStream, postInitialize, postInSession } from './session-revisions.ts';
import type { Sessions } from './sessions.ts';

export interface EndpointOptions {
  readonly sessions: Sessions;
  readonly authority: HarnessAuthority;
  readonly maxBodyBytes: number;
}

/** Mounts the MCP endpoint on an HTTP server of ours. All errors at its path are answered as JSON-RPC. */
export function createMount(path: string, options: EndpointOptions & { readonly report: Report }): Mount {
  return {
    path,
    methods: ['POST', 'GET', 'DELETE'],
    operations: ENDPOINT_OPERATIONS,
    handle: (request, response, caller) => serveEndpoint(request, response, nameOf(caller), options),
    refuse: (request, response, thrown) => refuseFailed(request, response, thrown, options.report),
  };
}

/** The owner of the sessions that this caller opens. */
export function nameOf(caller: Caller | undefined): string {
  return caller?.keyId ?? LOCAL_ACCOUNT;
}

/** Serves the MCP endpoint, both protocol eras on one path. @throws Refusal; ApiError */
export async function serveEndpoint(
  request: IncomingMessage,
  response: ServerResponse,
  caller: string,
  { sessions, authority, maxBodyBytes }: EndpointOptions,
): Promise<void> {
  if (request.method !== 'POST') return serveSession(request, response, caller, sessions);
  assertAccepts(request, ['application/json', 'text/event-stream']);
  const posted = await readPosted(request, maxBodyBytes);
  try {
    post(request, response, posted, caller, { sessions, authority });
  } catch (error) {
    throw error instanceof Refusal ? error.withId(idOf(posted.body)) : error;
  }
}

function post(
  request: IncomingMessage,
  response: ServerResponse,
  { body, route }: Posted,
  caller: string,
  { sessions, authority }: Pick<EndpointOptions, 'sessions' | 'authority'>,
): void {
  if (route.kind === 'reject') throw new Refusal(route.httpStatus, route.code, route.message, { data: route.data });
  if (route.kind === 'modern') {
    postModern(request, response, route, sessions, authority, caller);
    return;
  }
  // The cast is safe because the classification has checked the shape of every message.
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

/** @throws Refusal 406 if the client does not accept these types. */
export function assertAccepts(request: IncomingMessage, types: readonly string[]): void {
  const accepted = (request.headers.accept ?? '').split(',').map((part) => part.split(';')[0]?.trim().toLowerCase());
  const isAccepted = (type: string) =>
    accepted.some((range) => range === type || range === '*/*' || range === `${type.split('/')[0]}/*`);
  if (types.every(isAccepted)) return;
  throw new Refusal(406, RPC_CODE.refused, `Not acceptable: Accept has to name ${types.join(' and ')}`);
}
