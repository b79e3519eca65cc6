import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonObject } from '../../contract/json.ts';
import type { Audience } from '../../environment/definition.ts';
import type { RequestId } from '../json-rpc.ts';
import { isNewsFor, type SessionChange, type SessionChanges } from '../session/session-changes.ts';

/** Which subscription a notification belongs to (MCP 2026-07-28): the id of its request. */
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
/** Resources that one subscription may name. */
const MAX_URIS = 1_000;

/** The notifications that a client of 2026-07-28 subscribes to, as it sends them. */
export interface ListenFilter {
  readonly toolsListChanged?: true;
  readonly resourcesListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourceSubscriptions?: readonly string[];
}

export interface Subscriber {
  /** Id of the request, as the client knows it. */
  readonly id: RequestId;
  readonly filter: ListenFilter;
  readonly audience: Audience;
  send(message: JSONRPCMessage): void;
}

/** The filter of `subscriptions/listen`; undefined for parameters that hold none, or name too much. */
export function parseListenFilter(params: JsonObject): ListenFilter | undefined {
  const { notifications } = params;
  if (!isJsonObject(notifications)) return undefined;
  const { resourceSubscriptions: uris = [] } = notifications;
  if (!Array.isArray(uris) || uris.length > MAX_URIS || !uris.every((uri) => typeof uri === 'string')) return undefined;
  const flags = FLAGS.map((flag) => [flag, notifications[flag] ?? false] as const);
  if (!flags.every(([, value]) => typeof value === 'boolean')) return undefined;
  const wanted = flags.filter(([, value]) => value === true);
  return { ...Object.fromEntries(wanted), ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }) };
}

/**
 * Tells a subscriber at once what it will be told of, then every change that it asked for and its audience may know.
 * Names in a filter are not looked up: a hidden resource is acknowledged like an unknown one. Returns the way to stop.
 */
export function subscribe({ id, filter, audience, send }: Subscriber, changes: SessionChanges): () => void {
  const stamped = (method: string, params: object): JSONRPCMessage => ({
    jsonrpc: '2.0',
    method,
    params: { ...params, _meta: { [SUBSCRIPTION_ID]: id } },
  });
  send(stamped('notifications/subscriptions/acknowledged', { notifications: filter }));
  return changes.on((change) => {
    if (!isNewsFor(change, audience) || !isWanted(filter, change)) return;
    if (change.kind === 'resource') send(stamped('notifications/resources/updated', { uri: change.uri }));
    else send(stamped(`notifications/${change.kind}/list_changed`, {}));
  });
}

/** The answer to `subscriptions/listen`, which says that the server has ended it. */
export function endOfSubscription(id: RequestId, server: { readonly name: string; readonly version: string }) {
  const { name, version } = server;
  const _meta = { [SUBSCRIPTION_ID]: id, 'io.modelcontextprotocol/serverInfo': { name, version } };
  return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta } } as const;
}

const FLAGS = ['toolsListChanged', 'resourcesListChanged', 'promptsListChanged'] as const;

function isWanted(filter: ListenFilter, change: SessionChange): boolean {
  switch (change.kind) {
    case 'tools':
      return filter.toolsListChanged === true;
    case 'resources':
      return filter.resourcesListChanged === true;
    case 'prompts':
      return filter.promptsListChanged === true;
    case 'resource':
      return filter.resourceSubscriptions?.includes(change.uri) === true;
  }
}
