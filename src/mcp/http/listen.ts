import type { ServerResponse } from 'node:http';
import type { JsonObject } from '../../contract/json.ts';
import type { Audience } from '../../environment/definition.ts';
import { Refusal, RPC_CODE } from '../refusal.ts';
import { EventStream } from './event-stream.ts';
import { endOfSubscription, parseListenFilter, subscribe } from './listen-stream.ts';
import type { HttpSession } from './sessions.ts';

/** Limit for one session. On loopback without authentication, all callers that name no session share one. */
const MAX_STREAMS = 64;

export interface ListenRequest {
  readonly id: string | number;
  readonly params: JsonObject;
  readonly audience: Audience;
  readonly server: { readonly name: string; readonly version: string };
}

/**
 * `subscriptions/listen` of 2026-07-28: an event stream that lasts until the client closes it or the session ends.
 *
 * @throws Refusal 400 for a filter that is none, 503 where a session has too many streams.
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
