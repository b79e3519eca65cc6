import type { ServerResponse } from 'node:http';
import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { isJsonObject, type JsonObject } from '../../../contract/json.ts';
import type { Audience } from '../../authoring/definition.ts';
import type { RequestId } from '../json-rpc.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { isNewsFor, type SessionChange, type SessionChanges } from '../session/session-changes.ts';
import { EventStream } from './event-stream.ts';
import type { HttpSession } from './sessions.ts';

/**
 * Maximum number of streams in one session. On loopback without authentication, all callers that name no session share
 * one.
 */
const MAX_STREAMS = 64;

export interface ListenRequest {
  readonly id: string | number;
  readonly params: JsonObject;
  readonly audience: Audience;
  readonly server: { readonly name: string; readonly version: string };
}

/**
 * Serves `subscriptions/listen` of MCP 2026-07-28: an event stream that lasts until the client closes it or the session
 * ends.
 *
 * @throws Refusal 400 for an invalid filter, 503 if the session has too many streams.
 */
export function openListenStream(
  response: ServerResponse,
  { session, transport }: HttpSession,
  request: ListenRequest,
) {
  const { id, params, audience, server } = request;
  const filter = parseListenFilter(params);
  if (filter === undefined) {
    const hint =
      'Invalid params: notifications has to be a filter with toolsListChanged, resourcesListChanged, promptsListChanged (booleans) and resourceSubscriptions (up to 1,000 URIs)';
    throw new Refusal(400, RPC_CODE.invalidParams, hint);
  }
  if (transport.listeningCount >= MAX_STREAMS) {
    const headers = { 'retry-after': '5' };
    throw new Refusal(503, RPC_CODE.refused, `This session has ${MAX_STREAMS} such streams, the limit`, { headers });
  }
  const stream = new EventStream(response);
  const unsubscribe = subscribe(
    {
      id,
      filter,
      audience,
      send: (message) => {
        if (stream.hasRoomFor(message)) void stream.send(message);
      },
    },
    session.changes,
  );
  const end = () => {
    unsubscribe();
    void stream.send(endOfSubscription(id, server));
    stream.end();
  };
  if (Object.keys(filter).length === 0) return end();
  response.once('close', unsubscribe);
  transport.listen(response, { end });
}

/** The `_meta` key of a notification with the id of its subscription request (MCP 2026-07-28). */
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';
/** Maximum number of resources in one subscription. */
const MAX_URIS = 1_000;

/** The notifications that a client of MCP 2026-07-28 subscribes to, as it sends them. */
interface ListenFilter {
  readonly toolsListChanged?: true;
  readonly resourcesListChanged?: true;
  readonly promptsListChanged?: true;
  readonly resourceSubscriptions?: readonly string[];
}

interface Subscriber {
  /** Id of the request, as the client sent it. */
  readonly id: RequestId;
  readonly filter: ListenFilter;
  readonly audience: Audience;
  send(message: JSONRPCMessage): void;
}

/** Parses the filter of `subscriptions/listen`. Undefined if it is missing, invalid or too long. */
function parseListenFilter(params: JsonObject): ListenFilter | undefined {
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
 * Sends the acknowledgement at once, then every change that matches the filter and that the audience may see. URIs in
 * the filter are not looked up, so a hidden resource is acknowledged like an unknown one. Returns a function that ends
 * the subscription.
 */
function subscribe({ id, filter, audience, send }: Subscriber, changes: SessionChanges): () => void {
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

/** The reply to `subscriptions/listen` when the server ends the subscription. */
function endOfSubscription(id: RequestId, server: { readonly name: string; readonly version: string }) {
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
