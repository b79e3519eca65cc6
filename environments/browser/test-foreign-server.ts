import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server that the browser must not reach. It notes every connection, also one on which nothing is asked. */
export class ForeignServer {
  /** What has arrived: `connection`, `GET /path`, `datagram`. */
  readonly seen: string[] = [];
  readonly port: number;
  readonly #close: () => Promise<unknown>;

  private constructor(port: number, seen: string[], close: () => Promise<unknown>) {
    this.port = port;
    this.seen = seen;
    this.#close = close;
  }

  /** On TCP and UDP. @throws Error where the machine has no such address. */
  static async start(host: string, port = 0): Promise<ForeignServer> {
    const seen: string[] = [];
    const http = createServer((request, response) => {
      seen.push(`${request.method} ${request.url}`);
      response.writeHead(200, { 'access-control-allow-origin': '*', 'content-type': 'text/html' }).end('foreign');
    });
    http.on('connection', () => seen.push('connection'));
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject);
      http.listen(port, host, resolve);
    });
    const { port: taken } = http.address() as AddressInfo;
    const udp = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    udp.on('message', () => seen.push('datagram'));
    udp.on('error', () => {});
    await new Promise<void>((resolve) => udp.bind(taken, host, resolve));
    return new ForeignServer(taken, seen, async () => {
      http.closeAllConnections();
      await Promise.all([new Promise((done) => http.close(done)), new Promise<void>((done) => udp.close(done))]);
    });
  }

  close(): Promise<unknown> {
    return this.#close();
  }
}
