import { SSEClientTransport } from '@modelcontextprotocol/client';
import { createHttpFetch } from '../../support/runtime/http-fetch.ts';
import { EnvironmentProcess } from '../process/environment-process.ts';
import type { ProcessOptions } from '../process/process-options.ts';
import { HttpTransport } from './http-transport.ts';
import { type Link, toLink } from './link.ts';

interface HttpAddress {
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Starts a process and connects to it over pipes. */
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

/**
 * Connects to a remote server over Streamable HTTP. On close it has `endSessionMs` to learn that its session is over.
 */
export function openStreamableHttp({ url, headers }: HttpAddress, endSessionMs: number): Link {
  const httpFetch = createHttpFetch();
  const transport = new HttpTransport(url, { fetch: httpFetch, requestInit: { headers: { ...headers } } });
  return toLink(transport, async () => {
    await transport.endSession(endSessionMs);
    await transport.close();
    httpFetch.close();
  });
}

/** Connects to a remote server over HTTP+SSE, the predecessor of Streamable HTTP. */
export function openSse({ url, headers }: HttpAddress): Link {
  const httpFetch = createHttpFetch();
  const transport = new SSEClientTransport(url, { fetch: httpFetch, requestInit: { headers: { ...headers } } });
  return toLink(transport, async () => {
    await transport.close();
    httpFetch.close();
  });
}
