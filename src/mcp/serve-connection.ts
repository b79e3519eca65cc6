import type { Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { describeConnectionError } from './describe-thrown.ts';
import type { EnvironmentHost } from './environment-host.ts';

/**
 * Serves one connection that carries one session: its first message decides the era. A probe by `server/discover` that
 * is followed by a handshake is a session that never began, and leaves no trace.
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
