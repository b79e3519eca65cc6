import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { SessionChange } from './session-changes.ts';
import type { SessionServer } from './session-server.ts';

/** Resources that one client may watch. */
const MAX_SUBSCRIPTIONS = 1_000;

/** The resources of which the client of a session wants to hear when they change, on the session-based revisions. */
export class Subscriptions {
  readonly #uris = new Set<string>();

  /** @throws ProtocolError beyond the limit. */
  add(uri: string): void {
    if (this.#uris.size >= MAX_SUBSCRIPTIONS && !this.#uris.has(uri)) {
      const hint = `A session can subscribe to ${MAX_SUBSCRIPTIONS} resources: unsubscribe from others first`;
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, hint);
    }
    this.#uris.add(uri);
  }

  remove(uri: string): void {
    this.#uris.delete(uri);
  }

  has(uri: string): boolean {
    return this.#uris.has(uri);
  }
}

/** Sends a change to whoever listens on the connection. A peer that has gone misses it. */
export function sendChange(server: SessionServer, change: SessionChange): void {
  notify(server, change).catch(() => {});
}

function notify(server: SessionServer, change: SessionChange): Promise<void> {
  switch (change.kind) {
    case 'tools':
      return server.sendToolListChanged();
    case 'resources':
      return server.sendResourceListChanged();
    case 'prompts':
      return server.sendPromptListChanged();
    case 'resource':
      return server.sendResourceUpdated({ uri: change.uri });
  }
}
