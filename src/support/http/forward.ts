import * as http from 'node:http';
import * as https from 'node:https';
import { createHttpAgents, type HttpAgents } from '../runtime/http-fetch.ts';
import { letGoWhenStalled } from './stalled-client.ts';

export interface ForwardTarget {
  /** Address of the other server, without a trailing slash. The request's path is appended. */
  readonly base: string;
  /** Headers that replace those of the request; undefined removes one. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Ends the exchange on both sides. */
  readonly signal: AbortSignal;
  /** Default 10,000. */
  readonly connectTimeoutMs?: number;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** Idle milliseconds until the system probes whether the other side is still there. */
const KEEP_ALIVE_MS = 15_000;

/** Forwards requests to other servers, streaming in both directions. Its creator closes it. */
export class Forwarder {
  readonly #agents: HttpAgents = createHttpAgents();

  /**
   * Resolves when the reply is sent or the client has gone; the latter also ends the upstream request. A reply that
   * breaks off upstream is cut off for the client too.
   *
   * @throws Error when the other server did not answer and nothing has been sent to the client.
   */
  forward(request: http.IncomingMessage, response: http.ServerResponse, target: ForwardTarget): Promise<void> {
    return new Promise((resolve, reject) => {
      const upstream = this.#open(request, target);
      const timer = setTimeout(
        () => upstream.destroy(new Error('no connection within the time limit')),
        target.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
      );
      const onAbort = () => upstream.destroy(asError(target.signal.reason));
      target.signal.addEventListener('abort', onAbort, { once: true });
      if (target.signal.aborted) onAbort();
      upstream.once('socket', (socket) => {
        socket.setKeepAlive(true, KEEP_ALIVE_MS);
        if (socket.connecting) socket.once('connect', () => clearTimeout(timer));
        else clearTimeout(timer);
      });
      upstream.once('response', (reply) => sendOn(reply, response));
      upstream.on('error', (error) => {
        if (response.headersSent) response.destroy();
        else reject(error);
      });
      upstream.once('close', () => {
        clearTimeout(timer);
        target.signal.removeEventListener('abort', onAbort);
        // The client may still be sending a body that is no longer read.
        request.unpipe(upstream);
        request.resume();
      });
      response.once('close', () => {
        if (!response.writableFinished) upstream.destroy();
        resolve();
      });
      request.pipe(upstream);
    });
  }

  /** Closes idle connections. */
  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  #open(request: http.IncomingMessage, { base, headers }: ForwardTarget): http.ClientRequest {
    const { protocol, hostname, port, pathname, host } = new URL(base);
    const isSecure = protocol === 'https:';
    return (isSecure ? https : http).request({
      protocol,
      hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
      ...(port === '' ? {} : { port }),
      // The path is not built with URL, which would normalize it.
      path: `${pathname.replace(/\/$/, '')}${request.url ?? '/'}`,
      method: request.method ?? 'GET',
      headers: { ...withoutHopByHop(request.headers, headers), host },
      agent: this.#agents[isSecure ? 'https:' : 'http:'],
    });
  }
}

function sendOn(reply: http.IncomingMessage, response: http.ServerResponse): void {
  response.statusCode = reply.statusCode ?? 502;
  for (const [name, value] of Object.entries(reply.headers)) {
    // This server has already decided which pages may read the reply.
    const isDecided = name === 'vary' || name.startsWith('access-control-');
    if (value !== undefined && !HOP_BY_HOP.has(name) && !isDecided) response.setHeader(name, value);
  }
  response.flushHeaders();
  const write = letGoWhenStalled(response);
  reply.on('data', (bytes: Buffer) => {
    if (!write(bytes)) reply.pause();
  });
  response.on('drain', () => reply.resume());
  reply.once('end', () => response.end());
  reply.once('close', () => {
    if (!reply.complete) response.destroy();
  });
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

function withoutHopByHop(headers: Headers, ours: Headers): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries({ ...headers, ...ours })) {
    if (value !== undefined && !HOP_BY_HOP.has(name)) out[name] = value;
  }
  return out;
}

/** Headers that apply to a single connection and are not forwarded. */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
