import * as http from 'node:http';
import * as https from 'node:https';
import { Readable } from 'node:stream';

/**
 * Milliseconds until an idle connection is closed. Servers on Node.js close it after 5 s, and no request should meet a
 * closed one.
 */
const IDLE_CONNECTION_MS = 2_500;

export interface HttpFetch {
  (url: string | URL, init?: RequestInit): Promise<Response>;
  /** Closes idle connections. */
  close(): void;
}

/** Agents that keep connections alive between requests. */
export interface HttpAgents {
  readonly 'http:': http.Agent;
  readonly 'https:': https.Agent;
}

export function createHttpAgents(): HttpAgents {
  // The timeout applies to idle connections only, not to long requests.
  const settings = { keepAlive: true, timeout: IDLE_CONNECTION_MS };
  return { 'http:': new http.Agent(settings), 'https:': new https.Agent(settings) };
}

/** Sends one request over `node:http` and resolves with its status and headers. Redirects are not followed. */
export function sendRequest(url: URL, init: RequestInit, agents: HttpAgents): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const isSecure = url.protocol === 'https:';
    const options = {
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers)),
      agent: agents[isSecure ? 'https:' : 'http:'],
      ...(init.signal ? { signal: init.signal } : {}),
    };
    const request = (isSecure ? https : http).request(url, options, resolve);
    // The listener stays, because an abort during the reply is reported here too.
    request.on('error', reject);
    request.end(typeof init.body === 'string' ? init.body : undefined);
  });
}

/**
 * The part of `fetch` that an MCP transport needs, over `node:http`. The built-in `fetch` gives up when headers take
 * five minutes, but a tool may take longer. Redirects are returned and not followed.
 */
export function createHttpFetch(): HttpFetch {
  const agents = createHttpAgents();
  const fetchOver = async (target: string | URL, init: RequestInit = {}) => {
    const reply = await sendRequest(new URL(target), init, agents);
    return toResponse(reply, (body) => Readable.toWeb(body) as ReadableStream<Uint8Array>);
  };
  return Object.assign(fetchOver, {
    close: () => {
      for (const agent of Object.values(agents)) agent.destroy();
    },
  });
}

/** @throws for a status or header that `Response` refuses; it closes the connection then. */
export function toResponse(
  reply: http.IncomingMessage,
  toBody: (reply: http.IncomingMessage) => ReadableStream<Uint8Array> | null,
): Response {
  try {
    const headers = new Headers();
    for (let at = 0; at + 1 < reply.rawHeaders.length; at += 2) {
      headers.append(reply.rawHeaders[at] ?? '', reply.rawHeaders[at + 1] ?? '');
    }
    const status = reply.statusCode ?? 0;
    const init = { status, statusText: reply.statusMessage ?? '', headers };
    if (status !== 204 && status !== 205 && status !== 304) return new Response(toBody(reply), init);
    reply.on('error', () => {}).resume();
    return new Response(null, init);
  } catch (error) {
    reply.destroy();
    throw error;
  }
}
