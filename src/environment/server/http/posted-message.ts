import type { IncomingMessage } from 'node:http';
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  classifyInboundRequest,
  type InboundClassificationOutcome,
  isJsonContentType,
  isSpecType,
  type JSONRPCRequest,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/server';
import { isJsonObject } from '../../../contract/json.ts';
import { isNestedDeeper, MAX_JSON_DEPTH } from '../../../contract/json-depth.ts';
import { readBytes, UTF_8 } from '../../../support/http/api/body.ts';
import { assertBatchLength } from '../batches.ts';
import { isPlainRequest } from '../json-rpc.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { MODERN_REVISION, SESSION_REVISIONS } from '../session/session-server.ts';

/** The messages of a POST, and the protocol era that they belong to. */
export interface Posted {
  readonly body: unknown;
  readonly route: InboundClassificationOutcome;
}

/** @throws Refusal 415 or 400; ApiError 413. */
export async function readPosted(request: IncomingMessage, maxBytes: number): Promise<Posted> {
  const body = await readMessages(request, maxBytes);
  if (Array.isArray(body)) assertBatchLength(body);
  return { body, route: classify(request, body) };
}

/**
 * Reads the body of a POST as JSON of limited depth. The messages are not checked yet. The media type has to be JSON,
 * because forms of other sites cannot send it.
 *
 * @throws Refusal 415 or 400; ApiError 413.
 */
export async function readMessages(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  if (!isJsonContentType(request.headers['content-type'])) {
    const given = request.headers['content-type'];
    const got = given === undefined ? 'none' : JSON.stringify(given);
    throw new Refusal(
      415,
      RPC_CODE.refused,
      `Unsupported media type: Content-Type must be application/json, got ${got}`,
    );
  }
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new Refusal(
      415,
      RPC_CODE.refused,
      `Unsupported content encoding ${JSON.stringify(encoding)}: send it as it is`,
    );
  }
  const value = parse(await readBytes(request, maxBytes));
  if (hasTooManyCapabilities(value)) {
    throw new Refusal(
      400,
      RPC_CODE.invalidRequest,
      `Invalid request: capabilities with more than ${MAX_CAPABILITIES} members`,
    );
  }
  return value;
}

function parse(body: Uint8Array): unknown {
  const text = tryToRead(() => UTF_8.decode(body));
  if (isNestedDeeper(text)) {
    throw new Refusal(400, RPC_CODE.invalidRequest, `Invalid request: nested more than ${MAX_JSON_DEPTH} deep`);
  }
  return tryToRead(() => JSON.parse(text));
}

/** @throws Refusal if the body is not JSON. */
function tryToRead<T>(read: () => T): T {
  try {
    return read();
  } catch {
    throw new Refusal(400, RPC_CODE.parseError, 'Parse error: the body is not JSON in UTF-8');
  }
}

/** Id of the request in a body. Undefined if the body is not a request. */
export function idOf(body: unknown): string | number | undefined {
  const id = isJsonObject(body) ? body.id : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/** Maximum number of members, at any depth, in a message's client capabilities. Real clients have about ten. */
const MAX_CAPABILITIES = 1_000;

/**
 * True if a message has too many client capabilities. The SDK's check takes time that grows with the square of the
 * members of `elicitation`: 100,000 members would block the server for half a minute.
 */
function hasTooManyCapabilities(body: unknown): boolean {
  const messages = Array.isArray(body) ? body : [body];
  return messages.some((message) => {
    const params = isJsonObject(message) ? message.params : undefined;
    if (!isJsonObject(params)) return false;
    const meta = isJsonObject(params._meta) ? params._meta : {};
    return [params.capabilities, meta[CLIENT_CAPABILITIES_META_KEY]].some(
      (said) => countDown(said, MAX_CAPABILITIES) < 0,
    );
  });
}

/** `budget` minus the number of members of a value. Stops counting when the budget is used up. */
function countDown(value: unknown, budget: number): number {
  if (typeof value !== 'object' || value === null) return budget;
  let left = budget;
  for (const key in value) {
    left = countDown((value as Record<string, unknown>)[key], left - 1);
    if (left < 0) return left;
  }
  return left;
}

/**
 * Finds the protocol era of a POST's body, or the reason to refuse it. Clear cases are decided here. The SDK decides
 * the others: it tries several schemas first, which takes a tenth of the time of a call.
 */
export function classify({ headers }: IncomingMessage, body: unknown): InboundClassificationOutcome {
  const version = headers['mcp-protocol-version'];
  const method = headers['mcp-method'];
  const plain = isPlainRequest(body) ? classifyPlain(body, version, method) : undefined;
  if (plain !== undefined) return plain;
  return classifyInboundRequest({
    httpMethod: 'POST',
    ...header('protocolVersionHeader', version),
    ...header('mcpMethodHeader', method),
    ...header('mcpNameHeader', headers['mcp-name']),
    body,
  });
}

/** The result for a request of a revision with sessions. */
const OF_SESSION: InboundClassificationOutcome = { kind: 'legacy', reason: 'no-claim' };

/** Classifies a plain request. Undefined if the SDK has to decide. */
function classifyPlain(
  request: JSONRPCRequest,
  version: unknown,
  method: unknown,
): InboundClassificationOutcome | undefined {
  if (request.method === 'initialize') return undefined;
  const meta = request.params?._meta;
  if (meta === undefined || !(PROTOCOL_VERSION_META_KEY in meta)) {
    const isOfSession = version === undefined || SESSION_REVISIONS.some((revision) => revision === version);
    return isOfSession ? OF_SESSION : undefined;
  }
  const revision = meta[PROTOCOL_VERSION_META_KEY];
  if (revision !== MODERN_REVISION || version !== revision || method !== request.method) return undefined;
  if (!isPlainEnvelope(meta)) return undefined;
  return { kind: 'modern', messageKind: 'request', message: request, classification: { era: 'modern', revision } };
}

/** True if the `_meta` of a request of MCP 2026-07-28 is certainly valid. False leaves the decision to the SDK. */
function isPlainEnvelope(meta: Readonly<Record<string, unknown>>): boolean {
  const client = meta[CLIENT_INFO_META_KEY];
  if (meta[LOG_LEVEL_META_KEY] !== undefined) return false;
  if (client !== undefined && !isSpecType.Implementation(client)) return false;
  return isSpecType.ClientCapabilities(meta[CLIENT_CAPABILITIES_META_KEY]);
}

function header<Name extends string>(name: Name, value: string | string[] | undefined): { [key in Name]?: string } {
  return typeof value === 'string' ? ({ [name]: value } as { [key in Name]: string }) : {};
}
