import type { IncomingMessage, ServerResponse } from 'node:http';
import type { InboundModernRoute, JSONRPCMessage } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import { META } from '../../contract/names.ts';
import { type HarnessAuthority, isHarness } from '../audience.ts';
import { isErrorReply } from '../json-rpc.ts';
import { MODERN_REVISION } from '../session/session-server.ts';
import { openListenStream } from './listen.ts';
import { Refusal, RPC_CODE } from './refusal.ts';
import type { HttpSession, Sessions } from './sessions.ts';

/** Errors of the protocol that 2026-07-28 also gives an HTTP status. What a handler answers is a 200. */
const STATUS_OF_CODE: ReadonlyMap<number, number> = new Map([
  [RPC_CODE.methodNotFound, 404],
  [RPC_CODE.headerMismatch, 400],
  [RPC_CODE.missingCapability, 400],
  [RPC_CODE.unsupportedVersion, 400],
]);
/** Which field of the parameters `Mcp-Name` repeats. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
]);

/** Takes a message of revision 2026-07-28, whose headers repeat what the body says so that proxies can route it. */
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
  // Over HTTP a client cancels by closing the stream; no other notification of a client means anything here.
  if (route.messageKind === 'notification') {
    response.writeHead(202).end();
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
  const { session, transport, isNew } = sessionFor(route.message, params, sessions, authority, caller);
  transport.receive(response, {
    messages: [message],
    isBatch: false,
    classification,
    headOf: (reply) => ({ status: reply === undefined ? 200 : statusOf(reply) }),
    onReply: (reply) => {
      // A setup that failed has given no handle: nobody could ever name its session.
      if (isNew && isFailure(reply)) void session.close();
    },
  });
}

/** The session that a request means: the one it names, a new one for a setup that names none, or the caller's own. */
function sessionFor(
  { method }: { readonly method: string },
  params: JsonObject,
  sessions: Sessions,
  authority: HarnessAuthority,
  caller: string,
): HttpSession & { readonly isNew: boolean } {
  const meta = metaOf(params);
  const handle = meta[META.sessionId];
  if (handle !== undefined) {
    const found = typeof handle === 'string' ? sessions.find(handle, 'modern', caller) : undefined;
    if (found !== undefined) return { ...found, isNew: false };
    const hint = `Unknown session in _meta["${META.sessionId}"]: it has ended, or never was`;
    throw new Refusal(404, RPC_CODE.invalidParams, hint);
  }
  // An agent's call of `setup` is one of an unknown tool: it opens nothing.
  const isSetup = method === 'tools/call' && params.name === 'setup' && isHarness(meta, authority);
  return isSetup
    ? { ...sessions.open('modern', caller, true), isNew: true }
    : { ...sessions.ofCaller(caller), isNew: false };
}

/** @throws Refusal 400 where a header is missing or says something else than the body. The version was compared before. */
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
  const name = decodeHeader(headers['mcp-name']);
  if (name !== value) throw refuse(`the header Mcp-Name is ${shown(name)}, params.${field} is ${shown(value)}`);
}

/** What a header cannot hold as it is comes as `=?base64?…?=`. */
function decodeHeader(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(header.trim())?.[1];
  return encoded === undefined ? header.trim() : Buffer.from(encoded, 'base64').toString('utf8');
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
