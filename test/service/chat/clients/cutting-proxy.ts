import { once } from 'node:events';
import { createServer, request as openRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** How the connection of one request breaks: before its answer, when this resolves; or after it, so that the answer is lost. */
export type Cut = { readonly when: () => Promise<unknown> } | 'answer lost';

export interface CuttingProxy {
  readonly url: string;
  /** Bodies of what came, in the order of coming. */
  readonly bodies: readonly string[];
}

/** A bad line between a client and a server: it cuts the first connections as it is told, and lets the later ones be. */
export async function startCuttingProxy(target: string, cuts: readonly Cut[]): Promise<CuttingProxy> {
  const bodies: string[] = [];
  const server = createServer(async (incoming, outgoing) => {
    let body = '';
    for await (const piece of incoming.setEncoding('utf8')) body += piece;
    const cut = cuts[bodies.length];
    bodies.push(body);
    const { method = 'GET', headers } = incoming;
    const forwarded = openRequest(new URL(incoming.url ?? '/', target), { method, headers, agent: false });
    forwarded.on('error', () => outgoing.destroy());
    forwarded.on('response', (reply) => {
      if (cut === 'answer lost') reply.resume().on('end', () => outgoing.destroy());
      else if (cut === undefined) reply.pipe(outgoing.writeHead(reply.statusCode ?? 0, reply.headers));
    });
    forwarded.end(body);
    if (cut === undefined || cut === 'answer lost') return;
    await cut.when();
    outgoing.destroy();
    forwarded.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies };
}
