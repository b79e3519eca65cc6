import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { assertBatchRevision, assertFreshIds, usedId } from '../batches.ts';
import { isErrorReply, isRequest } from '../json-rpc.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { SESSION_REVISIONS } from '../session/session-server.ts';
import type { HttpSession, Sessions } from './sessions.ts';

/** `Mcp-Session-Id` in lower case, as Node.js names headers. */
const SESSION_ID_HEADER = 'mcp-session-id';

/**
 * Opens a session with `initialize`. The session is closed if the handshake fails or the client disconnects before it
 * is done.
 */
export function postInitialize(
  request: IncomingMessage,
  response: ServerResponse,
  message: JSONRPCMessage,
  sessions: Sessions,
  caller: string,
): void {
  if (request.headers[SESSION_ID_HEADER] !== undefined) {
    const hint = 'This session is initialized already: send initialize without Mcp-Session-Id to open another';
    throw new Refusal(400, RPC_CODE.invalidRequest, hint);
  }
  const { session, transport } = sessions.open('legacy', caller);
  response.once('close', () => {
    if (!session.isInitialized) void session.close();
  });
  const headers = { [SESSION_ID_HEADER]: session.id };
  transport.receive(response, {
    messages: [message],
    isBatch: false,
    headOf: (reply) => (reply !== undefined && isErrorReply(reply) ? {} : { headers }),
  });
}

/** Receives the messages that a client sends within its session. */
export function postInSession(
  request: IncomingMessage,
  response: ServerResponse,
  body: JSONRPCMessage | readonly JSONRPCMessage[],
  sessions: Sessions,
  caller: string,
): void {
  const { session, transport } = sessionOf(request, sessions, caller);
  const isBatch = isSeveral(body);
  if (isBatch) {
    assertBatchRevision(session.protocol);
    assertFreshIds(body, transport.openIds);
  } else if (isRequest(body) && transport.openIds.has(body.id)) throw usedId(body.id);
  transport.receive(response, {
    messages: isBatch ? body : [body],
    isBatch,
    headOf: () => ({ headers: { [SESSION_ID_HEADER]: session.id } }),
    resumableIn: session,
  });
}

/**
 * Opens the stream for messages that belong to no request. With `Last-Event-ID`, resumes the stream of that event.
 * @throws Refusal 400 if the event is no longer known.
 */
export function openSessionStream(
  request: IncomingMessage,
  response: ServerResponse,
  sessions: Sessions,
  caller: string,
): void {
  const { session, transport } = sessionOf(request, sessions, caller);
  const headers = { [SESSION_ID_HEADER]: session.id };
  const lastEventId = request.headers['last-event-id'];
  if (lastEventId === undefined) transport.openStream(response, headers, session);
  else if (!transport.resumeStream(response, headers, String(lastEventId))) {
    const hint = `Last-Event-ID ${JSON.stringify(lastEventId)} is not an event of this session, or too much has followed it: open the stream without it`;
    throw new Refusal(400, RPC_CODE.refused, hint);
  }
}

export async function deleteSession(
  request: IncomingMessage,
  response: ServerResponse,
  sessions: Sessions,
  caller: string,
): Promise<void> {
  const { session } = sessionOf(request, sessions, caller);
  await session.close();
  response.writeHead(204).end();
}

/** @throws Refusal 400 without a session id or with an unknown revision, 404 for an unknown session. */
function sessionOf(request: IncomingMessage, sessions: Sessions, caller: string): HttpSession {
  const version = request.headers['mcp-protocol-version'];
  if (version !== undefined && !SESSION_REVISIONS.some((revision) => revision === version)) {
    const hint = `MCP-Protocol-Version ${JSON.stringify(version)} is not supported: ${SESSION_REVISIONS.join(', ')}`;
    throw new Refusal(400, RPC_CODE.refused, hint);
  }
  const id = request.headers[SESSION_ID_HEADER];
  if (typeof id !== 'string' || id === '') {
    throw new Refusal(400, RPC_CODE.refused, 'Mcp-Session-Id is missing: open a session with initialize first');
  }
  const found = sessions.find(id, 'legacy', caller);
  if (found === undefined) throw new Refusal(404, RPC_CODE.sessionNotFound, 'Session not found: initialize again');
  return found;
}

function isSeveral(body: JSONRPCMessage | readonly JSONRPCMessage[]): body is readonly JSONRPCMessage[] {
  return Array.isArray(body);
}
