import type { IncomingMessage, ServerResponse } from 'node:http';
import { type JSONRPCMessage, parseJSONRPCMessage } from '@modelcontextprotocol/server';
import { assertBatchLength, assertBatchRevision, assertFreshIds } from '../batches.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { readJsonBody } from './body.ts';
import { assertAccepts } from './checks.ts';
import { idOf } from './endpoint.ts';
import type { Sessions } from './sessions.ts';

/** Where the deprecated transport opens its stream, and where it takes messages. */
export const SSE_PATH = '/sse';
export const MESSAGES_PATH = '/messages';

/** Opens a session on an event stream: its first event says where to post messages to. @throws Refusal */
export function openSse(request: IncomingMessage, response: ServerResponse, caller: string, sessions: Sessions): void {
  assertMethod(request, 'GET');
  assertAccepts(request, ['text/event-stream']);
  sessions.openSse(caller, response, (id) => `${MESSAGES_PATH}?session_id=${id}`);
}

/** Takes messages of a session; their replies come on its stream. @throws Refusal */
export async function postToSse(
  request: IncomingMessage,
  response: ServerResponse,
  caller: string,
  { sessions, maxBodyBytes }: { readonly sessions: Sessions; readonly maxBodyBytes: number },
): Promise<void> {
  assertMethod(request, 'POST');
  const body = await readJsonBody(request, maxBodyBytes);
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
  const isBatch = Array.isArray(body);
  if (isBatch) {
    assertBatchLength(body);
    assertBatchRevision(session.protocol);
  }
  const messages = isBatch ? body.map(toMessage) : [toMessage(body)];
  assertFreshIds(messages, isBatch, transport);
  transport.receive(messages, isBatch);
}

function toMessage(value: unknown): JSONRPCMessage {
  try {
    return parseJSONRPCMessage(value);
  } catch {
    throw new Refusal(400, RPC_CODE.invalidRequest, 'Invalid request: not a JSON-RPC message');
  }
}

/** @throws Refusal 405 */
function assertMethod(request: IncomingMessage, allow: string): void {
  if (request.method === allow) return;
  throw new Refusal(405, RPC_CODE.refused, `${request.method} is not allowed here: ${allow}`, { headers: { allow } });
}
