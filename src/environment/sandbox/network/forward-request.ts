import * as http from 'node:http';
import { messageOf } from '../../../contract/errors.ts';
import type { EgressGate } from './egress-gate.ts';
import { CONNECT_MS, dial } from './open-tunnel.ts';

const HTTP_PORT = 80;
/** Lower numbers are no status, and no reply can be sent with one. */
const LEAST_STATUS = 100;
/** Headers about the connection to the proxy, not about the request (RFC 9110 section 7.6.1). */
const HOP_HEADERS = ['proxy-authorization', 'proxy-connection', 'connection', 'keep-alive', 'te', 'trailer', 'upgrade'];

/**
 * Passes a plain HTTP request on. Each request is checked, and its connection ends with it. Never rejects: each end is
 * an answer to the client, or a closed connection.
 */
export async function forwardRequest(
  gate: EgressGate,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  response.on('error', () => {});
  response.shouldKeepAlive = false;
  if (!gate.hasCredential(request.headers['proxy-authorization'])) {
    response.setHeader('proxy-authenticate', 'Basic realm="sandbox"');
    return refuse(response, 407, 'Use the proxy variables of this sandbox.');
  }
  const url = toUrl(request.url);
  if (url === undefined) return refuse(response, 400, 'A proxy takes whole addresses, such as http://example.org/.');
  if (url.protocol !== 'http:') return refuse(response, 400, `${url.protocol} goes through CONNECT.`);
  const port = url.port === '' ? HTTP_PORT : Number(url.port);
  const destination = await gate.open(url.hostname, port);
  if (destination === undefined) {
    return refuse(response, 403, `${url.hostname}:${port} is not reachable from this sandbox.`);
  }
  const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !HOP_HEADERS.includes(name)));
  try {
    const socket = await dial(destination, request.socket);
    const upstream = http.request({
      method: request.method,
      path: `${url.pathname}${url.search}`,
      // A server of many hosts goes by this header: it has to name the host that was allowed.
      headers: { ...headers, host: url.host, connection: 'close' },
      createConnection: () => socket,
    });
    response.once('close', () => socket.destroy());
    upstream.on('response', (reply) => {
      const { statusCode = 0 } = reply;
      if (statusCode < LEAST_STATUS) {
        return refuse(response, 502, `${url.host}: the reply has the status ${statusCode}`);
      }
      const kept = Object.entries(reply.headers).filter(([name]) => !HOP_HEADERS.includes(name));
      response.writeHead(statusCode, Object.fromEntries(kept));
      reply.on('error', () => response.destroy());
      reply.pipe(response);
    });
    // An upgrade is no reply and no error, so that the client would wait for one.
    upstream.on('upgrade', (reply) => {
      refuse(response, 502, `${url.host}: the server changed the protocol, with the status ${reply.statusCode}`);
    });
    upstream.on('error', (error) => {
      if (response.headersSent) response.destroy();
      else refuse(response, 502, `${url.host}: ${messageOf(error)}`);
    });
    request.on('error', () => upstream.destroy());
    request.pipe(upstream);
  } catch (error) {
    refuse(response, 502, `${url.host}: ${messageOf(error)} (limit ${CONNECT_MS / 1_000} s)`);
  }
}

function toUrl(text: string | undefined): URL | undefined {
  return text !== undefined && /^[a-z]+:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined;
}

function refuse(response: http.ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(text);
}
