import { SSEClientTransport, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import type { CommandTarget, ConnectionTarget, UrlTarget } from '../environment/connection.ts';
import { toChildVariables } from '../process/child-variables.ts';
import { EnvironmentProcess } from '../process/environment-process.ts';
import { createHttpFetch } from '../runtime/http-fetch.ts';
import { answerCutStreams, endSession } from './streamable-http.ts';

/** Between SIGTERM and SIGKILL. Less than the budget of a session, of which author code needs a part. */
const CLOSE_GRACE_MS = 2_000;
/** How long a server that runs elsewhere is given to hear that its session is over. */
const END_SESSION_MS = 1_000;

/** The wire to a connected server. Whoever opened it closes it. */
export interface UpstreamLink {
  readonly transport: Transport;
  /** How the other end is known to have ended, in words that continue "it …"; undefined where nothing is known. */
  status(): string | undefined;
  /** `status` with the last words of its process, which are for the developer alone. */
  ending(): string | undefined;
  /** Ends what was started for it. Never rejects; later calls wait for the first. */
  close(): Promise<void>;
}

export interface LinkParts {
  /** Opens a server that is in this process; the layer above knows what one is. @throws Error for what is none. */
  openServer(server: unknown): Promise<{ readonly transport: Transport; close(): Promise<void> }>;
  /** Takes the lines of a process's standard error, and what it prints that is no message of the protocol. */
  readonly onLog: (line: string) => void;
}

/** The ways to reach a server, the best one first: an address may be one of the older HTTP+SSE. */
export function linkOpeners(
  target: ConnectionTarget,
  parts: LinkParts,
): readonly [() => Promise<UpstreamLink>, ...(() => Promise<UpstreamLink>)[]] {
  if ('command' in target) return [async () => openProcess(target, parts)];
  if ('url' in target) return [async () => openStreamableHttp(target), async () => openSse(target)];
  return [async () => toLink(await parts.openServer(target.server))];
}

function openProcess({ command, args = [], env = {}, cwd }: CommandTarget, { onLog }: LinkParts): UpstreamLink {
  const transport = new EnvironmentProcess({
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
  return {
    transport,
    status: () => transport.status,
    ending: () => transport.ending,
    close: () => transport.close(),
  };
}

function openStreamableHttp({ url, headers = {} }: UrlTarget): UpstreamLink {
  const httpFetch = createHttpFetch();
  const requestInit = { headers: { ...headers } };
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch: httpFetch, requestInit });
  answerCutStreams(transport);
  return toLink({
    transport,
    close: async () => {
      await endSession(transport, END_SESSION_MS);
      await transport.close();
      httpFetch.close();
    },
  });
}

function openSse({ url, headers = {} }: UrlTarget): UpstreamLink {
  const httpFetch = createHttpFetch();
  const transport = new SSEClientTransport(new URL(url), {
    fetch: httpFetch,
    requestInit: { headers: { ...headers } },
  });
  return toLink({
    transport,
    close: async () => {
      await transport.close();
      httpFetch.close();
    },
  });
}

function toLink({ transport, close }: { transport: Transport; close(): Promise<void> }): UpstreamLink {
  let closing: Promise<void> | undefined;
  return {
    transport,
    status: () => undefined,
    ending: () => undefined,
    close: () => {
      // A server that cannot be told notices the end by itself.
      closing ??= close().catch(() => {});
      return closing;
    },
  };
}
