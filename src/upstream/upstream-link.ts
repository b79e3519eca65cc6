import type { Transport } from '@modelcontextprotocol/client';
import type { ConnectionTarget } from '../environment/connection.ts';
import { type Link, toLink } from '../mcp-client/link.ts';
import { openProcess, openSse, openStreamableHttp } from '../mcp-client/open-link.ts';
import { toChildVariables } from '../process/child-variables.ts';

/** Between SIGTERM and SIGKILL. Less than the budget of a session, of which author code needs a part. */
const CLOSE_GRACE_MS = 2_000;
/** How long a server that runs elsewhere is given to hear that its session is over. */
const END_SESSION_MS = 1_000;

export interface LinkParts {
  /** Opens a server that is in this process; the layer above knows what one is. @throws Error for what is none. */
  openServer(server: unknown): Promise<{ readonly transport: Transport; close(): Promise<void> }>;
  /** Takes the lines of a process's standard error, and what it prints that is no message of the protocol. */
  readonly onLog: (line: string) => void;
}

/** The ways to reach a server, the best one first: an address may be one of the older HTTP+SSE. */
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
        cwd,
        // A server of somebody else's: plain MCP over standard input and output, and no key.
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
