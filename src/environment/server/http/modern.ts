import type { IncomingMessage, ServerResponse } from 'node:http';
import type { InboundModernRoute, JSONRPCMessage } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import { META } from '../../../contract/names.ts';
import { type HarnessAuthority, isHarness } from '../audience.ts';
import { isErrorReply } from '../json-rpc.ts';
import { decodeHeaderValue } from '../param-headers.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { INVALID_STATE } from '../session/scenarios/input-required.ts';
import { MODERN_REVISION } from '../session/session-server.ts';
import type { HostedSession } from '../session-host.ts';
import { openListenStream } from './listen-stream.ts';
import type { HttpSession, Sessions } from './sessions.ts';

/** HTTP status for protocol errors that have one on MCP 2026-07-28. Errors of handlers are sent with 200. */
const STATUS_OF_CODE: ReadonlyMap<number, number> = new Map([
  [RPC_CODE.methodNotFound, 404],
  [RPC_CODE.headerMismatch, 400],
  [RPC_CODE.missingCapability, 400],
  [RPC_CODE.unsupportedVersion, 400],
]);
/** The parameter that the header `Mcp-Name` repeats, by method. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

/** Receives a message of MCP 2026-07-28. Its headers repeat parts of the body, so that proxies can route it. */
export function postModern(
  request: IncomingMessage,
  response: ServerResponse,
  route: InboundModernRoute,
  sessions: Sessions,
  authority: HarnessAuthority,
  caller: string,
): void {
  const { message, classification } = route;
  if (classification.revision !== MODERN_REVISION) {
    const requested = classification.revision ?? 'unknown';
    throw new Refusal(400, RPC_CODE.unsupportedVersion, `Unsupported protocol version: ${requested}`, {
      data: { supported: [MODERN_REVISION], requested },
    });
  }
  // Over HTTP a client cancels by closing the stream. Other notifications of clients have no effect.
  if (route.messageKind === 'notification') {
    response.writeHead(202, { 'content-length': 0 }).end();
    return;
  }
  const params: JsonObject = isJsonObject(message.params) ? message.params : {};
  assertHeaders(request, route.message, params);
  if (route.message.method === 'subscriptions/listen') {
    const audience = isHarness(metaOf(params), authority) ? 'harness' : 'agent';
    const opened = sessionFor(route.message, params, sessions, authority, caller);
    openListenStream(response, opened, { id: route.message.id, params, audience, server: sessions.host });
    return;
  }
  const { session, transport, isUnnamed } = sessionFor(route.message, params, sessions, authority, caller);
  transport.receive(response, {
    messages: [message],
    isBatch: false,
    classification,
    headOf: (reply) => ({ status: reply === undefined ? 200 : statusOf(reply) }),
    onReply: (reply) => {
      if (isUnnamed) afterSetup(reply, session, sessions);
    },
  });
}

/**
 * Finds the session of a request: the one that it names, otherwise the caller's own. A setup without a named session
 * opens a new one, unless it is the retry of a setup that asked its client something.
 */
function sessionFor(
  { method }: { readonly method: string },
  params: JsonObject,
  sessions: Sessions,
  authority: HarnessAuthority,
  caller: string,
): HttpSession & { readonly isUnnamed: boolean } {
  const meta = metaOf(params);
  const handle = meta[META.sessionId];
  if (handle !== undefined) {
    const found = typeof handle === 'string' ? sessions.find(handle, 'modern', caller) : undefined;
    if (found !== undefined) return { ...found, isUnnamed: false };
    const hint = `Unknown session in _meta["${META.sessionId}"]: it has ended, or never was`;
    throw new Refusal(404, RPC_CODE.invalidParams, hint);
  }
  // For an agent, `setup` is an unknown tool, so its call opens no session.
  const isSetup = method === 'tools/call' && params.name === 'setup' && isHarness(meta, authority);
  if (!isSetup) return { ...sessions.ofCaller(caller), isUnnamed: false };
  const { requestState } = params;
  if (requestState === undefined) return { ...sessions.open('modern', caller, true), isUnnamed: true };
  const waiting = typeof requestState === 'string' ? sessions.waitingFor(requestState, caller) : undefined;
  // No session waits for this state, and opening a new one would be pointless.
  if (waiting === undefined) {
    throw new Refusal(400, RPC_CODE.invalidParams, INVALID_STATE.message, { data: INVALID_STATE.data });
  }
  return { ...waiting, isUnnamed: true };
}

/**
 * Keeps the session of a setup that waits for a retry. Closes the session of a failed setup, because the client never
 * gets its id.
 */
function afterSetup(reply: JSONRPCMessage, session: HostedSession, sessions: Sessions): void {
  // The retry was invalid, and a valid one may still come.
  if (isErrorReply(reply) && isJsonObject(reply.error.data) && reply.error.data.reason === INVALID_STATE.data.reason) {
    return;
  }
  sessions.setWaiting(session, requestStateOf(reply));
  if (isFailure(reply)) void session.close();
}

function requestStateOf(reply: JSONRPCMessage): string | undefined {
  const result = 'result' in reply && isJsonObject(reply.result) ? reply.result : {};
  const { resultType, requestState } = result;
  return resultType === 'input_required' && typeof requestState === 'string' ? requestState : undefined;
}

/** @throws Refusal 400 if a header is missing or differs from the body. The version was checked before. */
function assertHeaders(request: IncomingMessage, message: { readonly method: string }, params: JsonObject) {
  const refuse = (what: string) => new Refusal(400, RPC_CODE.headerMismatch, `Bad Request: ${what}`);
  const { headers } = request;
  if (headers['mcp-protocol-version'] === undefined) throw refuse('the header MCP-Protocol-Version is missing');
  const method = headers['mcp-method'];
  if (method !== message.method)
    throw refuse(`the header Mcp-Method is ${shown(method)}, the method ${message.method}`);
  const field = NAMED_BY.get(message.method);
  const value = field === undefined ? undefined : params[field];
  if (typeof value !== 'string') return;
  const name = headers['mcp-name'];
  if (decodeHeaderValue(name) !== value) {
    throw refuse(`the header Mcp-Name is ${shown(name)}, params.${field} is ${shown(value)}`);
  }
}

function metaOf({ _meta }: JsonObject): JsonObject {
  return isJsonObject(_meta) ? _meta : {};
}

function statusOf(reply: JSONRPCMessage): number {
  return isErrorReply(reply) ? (STATUS_OF_CODE.get(reply.error.code) ?? 200) : 200;
}

function isFailure(reply: JSONRPCMessage): boolean {
  if (isErrorReply(reply)) return true;
  return 'result' in reply && isJsonObject(reply.result) && reply.result.isError === true;
}

function shown(header: unknown): string {
  return header === undefined ? 'missing' : JSON.stringify(header);
}
