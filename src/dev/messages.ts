import { isJsonObject, type JsonObject } from '../contract/json.ts';
import type { RequestId } from '../mcp/json-rpc.ts';
import { RELATED_REQUEST } from '../mcp/related-transport.ts';
import type { HostedSession } from '../mcp/session-host.ts';

export type Transport = Parameters<HostedSession['connect']>[0];
export type Message = Parameters<Transport['send']>[0];

export interface Params {
  readonly [name: string]: unknown;
}
export type Request = Extract<Message, { method: string; id: unknown }>;
export type Notification = Exclude<Extract<Message, { method: string }>, Request>;
export type Reply = Exclude<Message, { method: string }>;

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

/** The request that a message belongs to, as the child tagged it, and the message without the tag. */
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

/** Says in the log of a client that the scenario of its session is not active any more. */
export function lostScenario(scenario: string, why: string): Notification {
  const data = `The environment was ${why}: the scenario ${JSON.stringify(scenario)} is lost. Set it up again.`;
  return { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'warning', logger: 'proctor', data } };
}

export function errorReply(id: RequestId, message: string): Reply {
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } };
}

/** JSON-RPC's code of what is not the fault of whoever asked. */
const INTERNAL_ERROR = -32_603;
