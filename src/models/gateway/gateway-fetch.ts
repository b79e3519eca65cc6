import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Redactor } from '../../support/redaction/redactor.ts';
import { createHttpAgents, sendRequest, toResponse } from '../../support/runtime/http-fetch.ts';

export type Fetch = typeof globalThis.fetch;

/** Redirects that keep method and body. */
const REDIRECTS: ReadonlySet<number> = new Set([307, 308]);
const MAX_REDIRECTS = 5;

/** Headers with a key, which only the gateway may get. */
const KEY_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key'] as const;

/** Shared connections of the whole process. Idle ones do not keep the process alive. */
const agents = createHttpAgents();

/**
 * A `fetch` for gateways over `node:http`. The body of an event stream is the Node.js stream itself, because a web
 * stream would be slower than all other work on a delta.
 */
export const gatewayFetch: Fetch = async (input, init = {}) => {
  const headers = new Headers(init.headers);
  // Compression would delay deltas until the gateway has enough of them.
  headers.set('accept-encoding', 'identity');
  let url = new URL(input instanceof Request ? input.url : input);
  for (let redirects = 0; ; redirects += 1) {
    const reply = await sendRequest(url, { ...init, headers }, agents);
    const next = REDIRECTS.has(reply.statusCode ?? 0) ? nextAddress(reply.headers.location, url) : undefined;
    if (next === undefined || redirects === MAX_REDIRECTS) return toGatewayResponse(reply);
    // The body of a redirect may never end.
    reply.destroy();
    if (next.origin !== url.origin) for (const name of KEY_HEADERS) headers.delete(name);
    url = next;
  }
};

/** A `fetch` that removes known secrets from request bodies. The gateway's key is in a header and stays. */
export function redactingFetch(redactor: Redactor, fetch: Fetch = gatewayFetch): Fetch {
  return (input, init) => {
    if (typeof init?.body !== 'string') return fetch(input, init);
    const body = redactor.text(init.body);
    if (body === init.body) return fetch(input, init);
    // The length has changed.
    const headers = new Headers(init.headers);
    headers.delete('content-length');
    return fetch(input, { ...init, body, headers });
  };
}

/** The address of a redirect; undefined if it is no HTTP address. The reply is then returned unchanged. */
function nextAddress(location: string | undefined, from: URL): URL | undefined {
  if (location === undefined || !URL.canParse(location, from.href)) return undefined;
  const next = new URL(location, from);
  return next.protocol === 'http:' || next.protocol === 'https:' ? next : undefined;
}

function toGatewayResponse(reply: IncomingMessage): Response {
  const isEventStream = reply.headers['content-type']?.startsWith('text/event-stream') === true;
  if (reply.statusCode !== 200 || !isEventStream) {
    return toResponse(reply, () => Readable.toWeb(decoded(reply)) as ReadableStream<Uint8Array>);
  }
  const response = toResponse(reply, () => null);
  const body = decoded(reply);
  // The reader gets the first error; later ones would have no listener.
  body.on('error', () => {});
  Object.defineProperty(response, 'body', { value: body });
  return response;
}

/** Decompresses a reply. Some gateways compress although the request forbids it. */
function decoded(reply: IncomingMessage): Readable {
  const decoder = DECODERS.get(reply.headers['content-encoding'] ?? '')?.();
  if (decoder === undefined) return reply;
  reply.on('error', (error) => decoder.destroy(error));
  decoder.on('close', () => reply.destroy());
  return reply.pipe(decoder);
}

const DECODERS: ReadonlyMap<string, () => ReturnType<typeof createGunzip>> = new Map([
  ['gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
]);
