import {
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResultResponse,
  RELATED_TASK_META_KEY,
} from '@modelcontextprotocol/server';
import { isJsonObject } from '../../contract/json.ts';

/** The id of a request, chosen by its sender. */
export type RequestId = JSONRPCRequest['id'];

// Classify messages whose shape was checked before. The SDK's functions parse the whole schema each time, which took a
// fifth of the time of a call.

export function isRequest(message: JSONRPCMessage): message is JSONRPCRequest {
  return 'method' in message && 'id' in message;
}

export function isNotification(message: JSONRPCMessage): message is JSONRPCNotification {
  return 'method' in message && !('id' in message);
}

/** True for a result or an error. */
export function isReply(message: JSONRPCMessage): message is JSONRPCResultResponse | JSONRPCErrorResponse {
  return !('method' in message);
}

export function isErrorReply(message: JSONRPCMessage): message is JSONRPCErrorResponse {
  return 'error' in message && !('method' in message);
}

/**
 * A fast check for valid requests. It never accepts what the SDK's schema refuses, but it refuses some rare valid
 * requests. It saves a call six schema checks, four of which fail and build an error.
 */
export function isPlainRequest(value: unknown): value is JSONRPCRequest {
  if (!isJsonObject(value)) return false;
  for (const key in value) if (!REQUEST_KEYS.has(key)) return false;
  const { jsonrpc, id, method, params } = value;
  if (jsonrpc !== '2.0' || typeof method !== 'string' || !isId(id)) return false;
  if (params === undefined) return true;
  if (!isJsonObject(params)) return false;
  const { _meta: meta } = params;
  if (meta === undefined) return true;
  if (!isJsonObject(meta) || meta[RELATED_TASK_META_KEY] !== undefined) return false;
  return meta.progressToken === undefined || isId(meta.progressToken);
}

const REQUEST_KEYS: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);

/** True if the value can be a request id or a progress token. */
function isId(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value);
}
