import type { Socket } from 'node:net';
import type { HostedSession } from '../../contract/host.ts';
import type { EnvironmentHost } from '../environment-host.ts';
import { serveConnection } from '../serve-connection.ts';
import type { EnvironmentSession } from '../session/environment-session.ts';
import { StdioTransport } from '../stdio/stdio-transport.ts';
import { PrintedLines } from './printed-lines.ts';
import type { SessionScope, SessionScopes } from './session-scopes.ts';

/**
 * Serves one session on a connection whose opening has been read and which is paused, with the key of that session alone. The end of the
 * connection ends the session: its calls are cancelled and its close hooks run. Then the socket is closed and `onEnded` is
 * called.
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
  // The starter of this host shows a key for each session. A word alone is not enough here.
  const authority = { harnessKey, isPeerTrusted: false };
  const opened: EnvironmentSession[] = [];
  const openSession: EnvironmentHost['openSession'] = (era) => {
    const made = host.openSession(era, false, { authority, report });
    const close = made.close.bind(made);
    // A shutdown closes it too, and its hooks belong to it then as well.
    made.close = (budgetMs) => run(() => close(budgetMs));
    opened.push(made);
    return made;
  };
  const end = async () => {
    await Promise.all(opened.map((each) => each.close()));
    printed.end();
    socket.destroySoon();
    onEnded();
  };

  const transport = new StdioTransport(socket, socket, 0);
  serveConnection({ report, openSession }, transport);
  const { onmessage, onclose } = transport;
  transport.onmessage = (message, extra) => run(() => onmessage?.(message, extra));
  transport.onclose = () => {
    run(() => onclose?.());
    void end();
  };
  socket.resume();
}
