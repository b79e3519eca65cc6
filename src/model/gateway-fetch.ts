import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { createHttpAgents, sendRequest, toResponse } from '../runtime/http-fetch.ts';

export type Fetch = typeof globalThis.fetch;

/** Those that keep method and body. */
const REDIRECTS: ReadonlySet<number> = new Set([307, 308]);
const MAX_REDIRECTS = 5;

/** Headers with a key, which is for the gateway alone. */
const KEY_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key'] as const;

/** Connections of the whole process; idle ones do not keep it alive. */
const agents = createHttpAgents();

/**
 * `fetch` for gateways, over `node:http`. The body of an event stream is the reply itself, which can be iterated but is no
 * web stream: those would take longer than all else that a delta goes through.
 */
export const gatewayFetch: Fetch = async (input, init = {}) => {
  const headers = new Headers(init.headers);
  // A gateway that compresses holds deltas back until there are enough of them.
  headers.set('accept-encoding', 'identity');
  let url = new URL(input instanceof Request ? input.url : input);
  for (let redirects = 0; ; redirects += 1) {
    const reply = await sendRequest(url, { ...init, headers }, agents);
    const next = REDIRECTS.has(reply.statusCode ?? 0) ? nextAddress(reply.headers.location, url) : undefined;
    if (next === undefined || redirects === MAX_REDIRECTS) return toGatewayResponse(reply);
    // Its body may never end.
    reply.destroy();
    if (next.origin !== url.origin) for (const name of KEY_HEADERS) headers.delete(name);
    url = next;
  }
};

/** Undefined for what is no address of a gateway: the reply is then told as it came. */
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
  // The reader gets the error; later ones have no reader.
  body.on('error', () => {});
  Object.defineProperty(response, 'body', { value: body });
  return response;
}

/** Decodes a reply: some gateways compress although they were asked not to. */
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
