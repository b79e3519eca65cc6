import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { assertBatchRevision, assertFreshIds, usedId } from '../batches.ts';
import { isErrorReply, isRequest } from '../json-rpc.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { SESSION_REVISIONS } from '../session/session-server.ts';
import type { HttpSession, Sessions } from './sessions.ts';

/** `Mcp-Session-Id` as Node.js spells headers. */
const SESSION_ID_HEADER = 'mcp-session-id';

/** Opens a session with `initialize`. A handshake that fails, or that nobody waits for, leaves none behind. */
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

/** Takes what a client sends within its session. */
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
 * The stream for messages of the server that belong to no request; with `Last-Event-ID` the rest of the stream that the
 * event was on. @throws Refusal 400 where that is not known any more.
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

/** @throws Refusal 400 without a session or with a revision that is unknown, 404 for a session that is. */
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
