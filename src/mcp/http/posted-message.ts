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
import { isJsonObject } from '../../contract/json.ts';
import { isTooDeep, MAX_JSON_DEPTH } from '../../contract/json-depth.ts';
import { readBytes, UTF_8 } from '../../http/body.ts';
import { assertBatchLength } from '../batches.ts';
import { isPlainRequest } from '../json-rpc.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { MODERN_REVISION, SESSION_REVISIONS } from '../session/session-server.ts';

/** The messages of a POST and the era that takes them, found out once for all that follows. */
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
 * The body of a POST: JSON that is safe to look into, its messages not yet looked at. The media type is asked for: a plain
 * form of another site cannot send it.
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
  if (isTooDeep(value)) {
    throw new Refusal(400, RPC_CODE.invalidRequest, `Invalid request: nested more than ${MAX_JSON_DEPTH} deep`);
  }
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
  try {
    return JSON.parse(UTF_8.decode(body));
  } catch {
    throw new Refusal(400, RPC_CODE.parseError, 'Parse error: the body is not JSON in UTF-8');
  }
}

/** Id of the request in a body, if the body is a request. */
export function idOf(body: unknown): string | number | undefined {
  const id = isJsonObject(body) ? body.id : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/** Members of what one message says that its client can do, at any depth. Clients of today have a dozen. */
const MAX_CAPABILITIES = 1_000;

/**
 * True where a message of a body says more of its client than any schema should be asked about: the SDK's takes a time that
 * grows with the square of the members of `elicitation`, half a minute for 100,000, and nobody is answered meanwhile.
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

/** The rest of `budget` after the members of a value. It stops counting once the budget is used up. */
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
 * Which era the body of a POST belongs to, or why none takes it. What is beyond doubt is answered here; everything else
 * by the SDK, which asks several schemas that fail before one fits, a tenth of the time of a call.
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

/** A request of a session-based revision. */
const OF_SESSION: InboundClassificationOutcome = { kind: 'legacy', reason: 'no-claim' };

/** Undefined where the SDK has to be asked. */
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

/** True for what a request of 2026-07-28 says of its client, where that is right beyond doubt. */
function isPlainEnvelope(meta: Readonly<Record<string, unknown>>): boolean {
  const client = meta[CLIENT_INFO_META_KEY];
  if (meta[LOG_LEVEL_META_KEY] !== undefined) return false;
  if (client !== undefined && !isSpecType.Implementation(client)) return false;
  return isSpecType.ClientCapabilities(meta[CLIENT_CAPABILITIES_META_KEY]);
}

function header<Name extends string>(name: Name, value: string | string[] | undefined): { [key in Name]?: string } {
  return typeof value === 'string' ? ({ [name]: value } as { [key in Name]: string }) : {};
}
