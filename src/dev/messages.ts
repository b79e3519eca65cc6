import { isJsonObject, type JsonObject } from '../contract/json.ts';
import { RELATED_REQUEST } from '../mcp/related-transport.ts';
import type { HostedSession } from '../mcp/session-host.ts';

export type Transport = Parameters<HostedSession['connect']>[0];
export type Message = Parameters<Transport['send']>[0];
export type RequestId = string | number;

export interface Params {
  readonly [name: string]: unknown;
}
export type Request = Extract<Message, { method: string; id: unknown }>;
export type Notification = Exclude<Extract<Message, { method: string }>, Request>;
export type Reply = Exclude<Message, { method: string }>;

export function isRequest(message: Message): message is Request {
  return 'method' in message && 'id' in message;
}

export function isNotification(message: Message): message is Notification {
  return 'method' in message && !('id' in message);
}

export function paramsOf(message: { readonly params?: unknown }): Params {
  return isJsonObject(message.params) ? message.params : {};
}

export function metaOf(message: { readonly params?: unknown }): Params {
  const { _meta } = paramsOf(message);
  return isJsonObject(_meta) ? _meta : {};
}

/** The result of a reply; undefined for an error. */
export function resultOf(reply: Reply): Params | undefined {
  return 'result' in reply && isJsonObject(reply.result) ? reply.result : undefined;
}

/** What the child said of the request that a message belongs to, and the message without it. */
export function takeRelated<Sent extends Request | Notification>(
  message: Sent,
): { message: Sent; related?: RequestId } {
  const { [RELATED_REQUEST]: related, ..._meta } = metaOf(message);
  if (typeof related !== 'string' && typeof related !== 'number') return { message };
  const { _meta: _dropped, ...params } = paramsOf(message);
  const rest = Object.keys(_meta).length === 0 ? params : { ...params, _meta };
  return { message: { ...message, params: rest } as Sent, related };
}

/** `_meta` as it may be said a second time: progress would begin anew. */
export function withoutProgressToken(message: { readonly params?: unknown }): JsonObject {
  const { progressToken: _token, ..._meta } = metaOf(message);
  return _meta as JsonObject;
}

export const LISTS = ['tools', 'prompts', 'resources'] as const;
/** The key of `_meta` that names the stream of 2026-07-28 which a change is told on. */
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

export function errorReply(id: RequestId, message: string): Reply {
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } };
}

/** JSON-RPC's code of what is not the fault of whoever asked. */
const INTERNAL_ERROR = -32_603;
