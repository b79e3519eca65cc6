import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import type { RequestId } from '../server/json-rpc.ts';
import { RELATED_REQUEST } from '../server/related-transport.ts';
import type { HostedSession } from '../server/session-host.ts';

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

/** The result of a reply. Undefined for an error. */
export function resultOf(reply: Reply): Params | undefined {
  return 'result' in reply && isJsonObject(reply.result) ? reply.result : undefined;
}

/** Splits a message into the request id that the child tagged it with, and the message without that tag. */
export function takeRelated<Sent extends Request | Notification>(
  message: Sent,
): { message: Sent; related?: RequestId } {
  const { [RELATED_REQUEST]: related, ..._meta } = metaOf(message);
  if (typeof related !== 'string' && typeof related !== 'number') return { message };
  const { _meta: _dropped, ...params } = paramsOf(message);
  const rest = Object.keys(_meta).length === 0 ? params : { ...params, _meta };
  return { message: { ...message, params: rest } as Sent, related };
}

/** `_meta` for a repeated request, without the progress token: otherwise its progress would begin again. */
export function withoutProgressToken(message: { readonly params?: unknown }): JsonObject {
  const { progressToken: _token, ..._meta } = metaOf(message);
  return _meta as JsonObject;
}

export const LISTS = ['tools', 'prompts', 'resources'] as const;
/** The `_meta` key that names the stream of MCP 2026-07-28 on which a change is reported. */
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
export const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged';

/** A log message that tells the client that its scenario is no longer active. */
export function lostScenario(scenario: string, why: string): Notification {
  const data = `The environment was ${why}: the scenario ${JSON.stringify(scenario)} is lost. Set it up again.`;
  return { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'warning', logger: 'proctor', data } };
}

export function errorReply(id: RequestId, message: string): Reply {
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } };
}

/** JSON-RPC's code for an internal error, which is not the caller's fault. */
const INTERNAL_ERROR = -32_603;
