import type { Transport } from '@modelcontextprotocol/server';
import { ENVIRONMENT } from '../../authoring/environment-source.ts';
import { createLinkedTransports } from '../linked-transports.ts';

export interface ConnectedSource {
  /** The client's end of the connection. */
  readonly transport: Transport;
  /** Ends the session of the server. A server of the SDK is not closed, because its author owns it. */
  close(): Promise<void>;
}

/** Serves one session of an environment on a transport. Returns a function that ends it. */
export type ServeEnvironment = (source: unknown, transport: Transport) => Promise<() => Promise<void>>;

/**
 * Opens one session of a server in this process: an environment, a server of the MCP SDK, or the result of a function.
 * A connected environment treats this side as an agent.
 *
 * @throws Error if it is none of these, and for a server of the SDK that is already connected.
 */
export async function openConnectedSource(server: unknown, serve: ServeEnvironment): Promise<ConnectedSource> {
  const [transport, serverTransport] = createLinkedTransports();
  const made: unknown = typeof server === 'function' && !isEnvironment(server.prototype) ? await server() : server;
  if (isEnvironment(made) || typeof made === 'function') {
    const close = await serve(made, serverTransport);
    return { transport, close };
  }
  if (!isMcpServer(made)) {
    throw new TypeError('its server is neither an environment nor an MCP server, which would have connect(transport)');
  }
  await made.connect(serverTransport);
  return { transport, close: () => transport.close() };
}

function isEnvironment(value: unknown): boolean {
  return typeof value === 'object' && value !== null && ENVIRONMENT in value;
}

function isMcpServer(value: unknown): value is { connect(transport: Transport): Promise<void> } {
  return typeof value === 'object' && value !== null && 'connect' in value && typeof value.connect === 'function';
}
