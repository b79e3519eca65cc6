import { SSEClientTransport, type Transport } from '@modelcontextprotocol/client';
import { EnvironmentProcess } from '../process/environment-process.ts';
import type { ProcessOptions } from '../process/process-options.ts';
import { createHttpFetch } from '../runtime/http-fetch.ts';
import { HttpTransport } from './http-transport.ts';

/** The way to an MCP server and what was started for it. Whoever opened it closes it. */
export interface Link {
  readonly transport: Transport;
  /** How the other end is known to have ended, in words that continue its name; undefined where nothing is known. */
  status(): string | undefined;
  /** `status` with the last words of its process, which are for the developer alone. */
  ending(): string | undefined;
  /** True when it was ended because it wanted more memory than it may have. */
  isOverMemory(): boolean;
  /** Its last lines on standard error, or of its log; empty where there are none, or nobody here can see them. */
  lastWords(): string;
  /** Ends the session and what was started for it. Never rejects; later calls wait for the first. */
  close(): Promise<void>;
}

interface HttpAddress {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A process of our own, over pipes. */
export function openProcess(options: ProcessOptions): Link {
  const transport = new EnvironmentProcess(options);
  return {
    transport,
    status: () => transport.status,
    ending: () => transport.ending,
    isOverMemory: () => transport.isOverMemory,
    lastWords: () => transport.lastWords,
    close: () => transport.close(),
  };
}

/** A server that runs elsewhere, over Streamable HTTP. It has `endSessionMs` to hear that its session is over. */
export function openStreamableHttp({ url, headers }: HttpAddress, endSessionMs: number): Link {
  const httpFetch = createHttpFetch();
  const transport = new HttpTransport(url, { fetch: httpFetch, requestInit: { headers: { ...headers } } });
  return toLink(transport, async () => {
    await transport.endSession(endSessionMs);
    await transport.close();
    httpFetch.close();
  });
}

/** A server that runs elsewhere, over HTTP+SSE, which came before Streamable HTTP. */
export function openSse({ url, headers }: HttpAddress): Link {
  const httpFetch = createHttpFetch();
  const transport = new SSEClientTransport(url, { fetch: httpFetch, requestInit: { headers: { ...headers } } });
  return toLink(transport, async () => {
    await transport.close();
    httpFetch.close();
  });
}

/**
 * A transport that says nothing of how its other end has ended, as in this process.
 *
 * @param close ends what the transport leads to; called once.
 */
export function toLink(transport: Transport, close: () => Promise<void>, lastWords = () => ''): Link {
  let closing: Promise<void> | undefined;
  return {
    transport,
    status: () => undefined,
    ending: () => undefined,
    isOverMemory: () => false,
    lastWords,
    close: () => {
      // A server that cannot be told notices the end by itself.
      closing ??= close().catch(() => {});
      return closing;
    },
  };
}
