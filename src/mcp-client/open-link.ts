import { SSEClientTransport } from '@modelcontextprotocol/client';
import { EnvironmentProcess } from '../process/environment-process.ts';
import type { ProcessOptions } from '../process/process-options.ts';
import { createHttpFetch } from '../runtime/http-fetch.ts';
import { HttpTransport } from './http-transport.ts';
import { type Link, toLink } from './link.ts';

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
