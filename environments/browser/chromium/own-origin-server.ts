import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What a site answers. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface SiteRequest {
  readonly method: string;
  readonly url: URL;
  /** The fields of a form that was sent. */
  readonly form: URLSearchParams;
}

export type Site = (request: SiteRequest) => Reply | Promise<Reply>;

/** Bytes of a form. */
const MAX_BODY_BYTES = 16 * 1024;

/**
 * A site on a free port of 127.0.0.1, which is at the same time the proxy of the browser that shows it. A browser whose
 * every request goes to this proxy can reach nothing else: a request for another address, and every tunnel (TLS and
 * WebSocket), is refused here, however it came about. Nothing is ever forwarded.
 *
 * A request that did not come by the proxy is refused too, so that other pages on this machine cannot act in the site.
 * Whoever starts it closes it.
 */
export class OwnOriginServer {
  readonly origin: string;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(site: Site): Promise<OwnOriginServer> {
    let own: OwnOriginServer | undefined;
    const server = createServer((request, response) => {
      void answer(site, own?.origin ?? '', request, response);
    });
    server.on('connect', (_request, socket: Socket) => {
      socket.on('error', () => {});
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    own = new OwnOriginServer(server);
    return own;
  }

  /** Ends open connections too. Never rejects. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    this.#server.closeAllConnections();
    await closed;
  }
}

/** The address within an origin, or undefined for anything else: another scheme, host, port, or one with a password. */
export function parseOwnAddress(address: string, origin: string): URL | undefined {
  let url: URL;
  try {
    url = new URL(address, origin);
  } catch {
    return undefined;
  }
  // The origin alone would not do: that of `blob:http://…` is the one of the page that made it.
  const isOwn = url.protocol === 'http:' && url.origin === origin && url.username === '' && url.password === '';
  return isOwn ? url : undefined;
}

async function answer(site: Site, origin: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    send(response, await replyTo(site, origin, request));
  } catch (error) {
    process.stderr.write(`The site failed at ${request.method} ${request.url}: ${String(error)}\n`);
    send(response, plain(500, 'The site failed'));
  }
}

async function replyTo(site: Site, origin: string, request: IncomingMessage): Promise<Reply> {
  // By a proxy the whole address is asked for, not its path.
  const target = request.url ?? '';
  const url = target.startsWith('http://') ? parseOwnAddress(target, origin) : undefined;
  if (url === undefined || request.headers.host !== url.host) return plain(403, 'This browser stays in its own site');
  const body = await readBody(request);
  if (body === undefined) return plain(413, `A form has at most ${MAX_BODY_BYTES} bytes`);
  return site({ method: request.method ?? 'GET', url, form: new URLSearchParams(body) });
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function plain(status: number, body: string): Reply {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8' }, body };
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  if (response.headersSent) return;
  response.writeHead(status, { 'cache-control': 'no-store', ...headers });
  response.end(body);
}
