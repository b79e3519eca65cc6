import type { Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { describeConnectionError } from './describe-thrown.ts';
import type { EnvironmentHost } from './environment-host.ts';

/**
 * Serves a connection with one session. Its first message decides the protocol era. A `server/discover` that is
 * followed by a handshake starts no session.
 */
export function serveConnection(
  host: Pick<EnvironmentHost, 'openSession' | 'report'>,
  transport: Transport,
): { close(): Promise<void> } {
  return serveStdio(({ era }) => host.openSession(era).server, {
    transport,
    onerror: (error) => host.report(describeConnectionError(error)),
  });
}
