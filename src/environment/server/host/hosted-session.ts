import type { Socket } from 'node:net';
import { type HostedSession, SHUTDOWN_METHOD } from '../../../contract/host.ts';
import { SHUTDOWN_GRACE_MS } from '../../../contract/names.ts';
import type { EnvironmentHost } from '../environment-host.ts';
import { serveConnection } from '../serve-connection.ts';
import type { EnvironmentSession } from '../session/environment-session.ts';
import { StdioTransport } from '../stdio/stdio-transport.ts';
import { PrintedLines } from './printed-lines.ts';
import type { SessionScope, SessionScopes } from './session-scopes.ts';

/**
 * Serves one session on a connection, with its own key. The opening lines have been read, and the socket is paused. The
 * end of the connection ends the session: its calls are cancelled, its close hooks run, and its shutdown hooks run if
 * the starter has announced a shutdown. Then the socket is closed and `onEnded` is called.
 */
export function serveHostedSession(
  socket: Socket,
  { session, harness_key: harnessKey }: HostedSession,
  { host, scopes, onEnded }: { host: EnvironmentHost; scopes: SessionScopes; onEnded: () => void },
): void {
  const printed = new PrintedLines(socket);
  const scope: SessionScope = { session, print: (text) => printed.push(text) };
  const run = <T>(work: () => T): T => scopes.run(scope, work);
  const report = (text: string) => scopes.report(scope, text);
  // The starter of this host sends a key for each session. A declaration alone is not enough.
  const authority = { harnessKey, isPeerTrusted: false };
  const opened: EnvironmentSession[] = [];
  let isShuttingDown = false;
  const openSession: EnvironmentHost['openSession'] = (era) => {
    const made = host.openSession(era, false, { authority, report });
    const close = made.close.bind(made);
    // A shutdown of the host also closes the session, and its hooks have to run in its scope.
    made.close = (budgetMs) => run(() => close(budgetMs));
    opened.push(made);
    return made;
  };
  const end = async () => {
    const endOf = (each: EnvironmentSession) =>
      isShuttingDown ? run(() => host.shutdownSession(each, SHUTDOWN_GRACE_MS.environment)) : each.close();
    await Promise.all(opened.map(endOf));
    printed.end();
    socket.destroySoon();
    onEnded();
  };

  const transport = new StdioTransport(socket, socket, 0);
  serveConnection({ report, openSession }, transport);
  const { onmessage, onclose } = transport;
  transport.onmessage = (message, extra) => {
    if ('method' in message && message.method === SHUTDOWN_METHOD) isShuttingDown = true;
    else run(() => onmessage?.(message, extra));
  };
  transport.onclose = () => {
    run(() => onclose?.());
    void end();
  };
  socket.resume();
}
