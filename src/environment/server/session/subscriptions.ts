import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import type { SessionChange } from './session-changes.ts';
import type { SessionServer } from './session-server.ts';

/** Maximum number of resources that one client may watch. */
const MAX_SUBSCRIPTIONS = 1_000;

/** The resources whose changes the client of a session subscribed to, on the revisions with sessions. */
export class Subscriptions {
  readonly #uris = new Set<string>();

  /** @throws ProtocolError if the limit is exceeded. */
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

/** Notifies the client of a change. Errors are ignored, because they mean that it has disconnected. */
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
