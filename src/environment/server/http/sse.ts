import type { IncomingMessage, ServerResponse } from 'node:http';
import { type JSONRPCMessage, parseJSONRPCMessage } from '@modelcontextprotocol/server';
import type { Mount } from '../../../support/http/api/route.ts';
import { assertBatchLength, assertBatchRevision, assertFreshIds, usedId } from '../batches.ts';
import type { Report } from '../cleanup.ts';
import { isRequest } from '../json-rpc.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { assertAccepts, nameOf } from './endpoint.ts';
import { MESSAGES_OPERATIONS, SSE_OPERATIONS } from './operations.ts';
import { idOf, readMessages } from './posted-message.ts';
import { refuseFailed } from './send-refusal.ts';
import type { Sessions } from './sessions.ts';

/** Paths of the deprecated transport: its stream, and the address for messages. */
export const SSE_PATH = '/sse';
export const MESSAGES_PATH = '/messages';

export interface SseOptions {
  readonly sessions: Sessions;
  readonly maxBodyBytes: number;
  readonly report: Report;
}

/** Mounts the two addresses of the deprecated transport on an HTTP server of ours. */
export function createSseMounts({ sessions, maxBodyBytes, report }: SseOptions): readonly Mount[] {
  const refuse: Mount['refuse'] = (request, response, thrown) => refuseFailed(request, response, thrown, report);
  return [
    {
      path: SSE_PATH,
      methods: ['GET'],
      operations: SSE_OPERATIONS,
      handle: async (request, response, caller) => openSse(request, response, nameOf(caller), sessions),
      refuse,
    },
    {
      path: MESSAGES_PATH,
      methods: ['POST'],
      operations: MESSAGES_OPERATIONS,
      handle: (request, response, caller) => postToSse(request, response, nameOf(caller), { sessions, maxBodyBytes }),
      refuse,
    },
  ];
}

/** Opens a session on an event stream. Its first event contains the address for messages. @throws Refusal */
function openSse(request: IncomingMessage, response: ServerResponse, caller: string, sessions: Sessions): void {
  assertMethod(request, 'GET');
  assertAccepts(request, ['text/event-stream']);
  sessions.openSse(caller, response, (id) => `${MESSAGES_PATH}?session_id=${id}`);
}

/** Receives messages of a session. The replies are sent on its stream. @throws Refusal */
async function postToSse(
  request: IncomingMessage,
  response: ServerResponse,
  caller: string,
  { sessions, maxBodyBytes }: { readonly sessions: Sessions; readonly maxBodyBytes: number },
): Promise<void> {
  assertMethod(request, 'POST');
  const body = await readMessages(request, maxBodyBytes);
  try {
    take(request, body, caller, sessions);
  } catch (error) {
    throw error instanceof Refusal ? error.withId(idOf(body)) : error;
  }
  response.writeHead(202, { 'content-type': 'text/plain' });
  response.end('Accepted');
}

function take(request: IncomingMessage, body: unknown, caller: string, sessions: Sessions): void {
  const id = new URLSearchParams((request.url ?? '').split('?')[1]).get('session_id');
  if (id === null || id === '') {
    throw new Refusal(400, RPC_CODE.refused, `session_id is missing: open a stream at ${SSE_PATH} first`);
  }
  const found = sessions.findSse(id, caller);
  if (found === undefined) {
    throw new Refusal(404, RPC_CODE.sessionNotFound, `Session not found: open another stream at ${SSE_PATH}`);
  }
  const { session, transport } = found;
  if (Array.isArray(body)) {
    assertBatchLength(body);
    assertBatchRevision(session.protocol);
    const messages = body.map(toMessage);
    assertFreshIds(messages, transport.openIds);
    transport.receive(messages, true);
  } else {
    const message = toMessage(body);
    if (isRequest(message) && transport.openIds.has(message.id)) throw usedId(message.id);
    transport.receive([message], false);
  }
}

function toMessage(value: unknown): JSONRPCMessage {
  try {
    return parseJSONRPCMessage(value);
  } catch {
    throw new Refusal(400, RPC_CODE.invalidRequest, 'Invalid request: not a JSON-RPC message');
  }
}

/** @throws Refusal 405 for another method. */
function assertMethod(request: IncomingMessage, allow: string): void {
  if (request.method === allow) return;
  throw new Refusal(405, RPC_CODE.refused, `${request.method} is not allowed here: ${allow}`, { headers: { allow } });
}
