import type { Transport } from '@modelcontextprotocol/client';
import type { ConnectionTarget } from '../authoring/connection.ts';
import { type Link, toLink } from '../mcp-client/link.ts';
import { openProcess, openSse, openStreamableHttp } from '../mcp-client/open-link.ts';
import { nameIt, toChildVariables } from '../process/child-variables.ts';

/**
 * Milliseconds between SIGTERM and SIGKILL. It is less than a session's limit for closing, so that author code has time
 * left.
 */
const CLOSE_GRACE_MS = 2_000;
/** Milliseconds to tell a remote server that its session is over. */
const END_SESSION_MS = 1_000;

export interface LinkParts {
  /** Connects to a server in this process. @throws Error if the value is not a server. */
  openServer(server: unknown): Promise<{ readonly transport: Transport; close(): Promise<void> }>;
  /** Receives the lines that a process writes to standard error, and its output that is not a protocol message. */
  readonly onLog: (line: string) => void;
}

/** The ways to reach a server, in the order to try them. The server of a URL may speak the older HTTP+SSE. */
export function linkOpeners(
  target: ConnectionTarget,
  { openServer, onLog }: LinkParts,
): readonly [() => Promise<Link>, ...(() => Promise<Link>)[]] {
  if ('command' in target) {
    const { command, args = [], env = {}, cwd } = target;
    const open = async () =>
      openProcess({
        command,
        args,
        variables: toChildVariables(process.env, env),
        withheld: { own: process.env, remedy: (name) => nameIt('the env of connect', name) },
        cwd,
        // A foreign server speaks plain MCP over standard input and output, and gets no key.
        hasOwnDescriptors: false,
        harnessKey: '',
        folders: cwd === undefined ? [] : [cwd],
        onLog: ({ message }) => onLog(message),
        graceMs: CLOSE_GRACE_MS,
      });
    return [open];
  }
  if ('url' in target) {
    const { url, headers } = target;
    const address = () => ({ url: new URL(url), headers });
    return [async () => openStreamableHttp(address(), END_SESSION_MS), async () => openSse(address())];
  }
  const open = async () => {
    const { transport, close } = await openServer(target.server);
    return toLink(transport, close);
  };
  return [open];
}
