import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { delta, frames } from '../model/fake-gateway.ts';

export interface BusyGatewayOptions {
  /** Requests that it answers at one time; others get a 429. */
  readonly capacity?: number;
  /** Milliseconds that an answer takes. */
  readonly callMs?: number;
  /** Text of its answers, four characters or more. */
  readonly text?: string;
  /** Of its 429, in seconds; undefined: it says nothing. */
  readonly retryAfter?: number;
  /** Of every answer. */
  readonly usage?: object;
}

/** A gateway over real sockets that refuses what is too much for it, and that can be away for a while. */
export interface BusyGateway {
  readonly url: string;
  readonly answered: number;
  readonly refused: number;
  /** The most that it had at one time. */
  readonly peak: number;
  /** Of requests, refused ones among them. */
  readonly bodies: readonly Record<string, unknown>[];
  /** Nobody is there any more: connections are cut, and new ones refused. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  /** Every request gets this status, until it is undefined. */
  failWith(status: number | undefined): void;
  /** Forgets its counts. */
  reset(): void;
  close(): Promise<void>;
}

async function startBusyGateway(options: BusyGatewayOptions = {}): Promise<BusyGateway> {
  const { capacity = Number.POSITIVE_INFINITY, callMs = 0, text: said = 'Hello', retryAfter, usage } = options;
  const counts = { answered: 0, refused: 0, peak: 0, running: 0 };
  let bodies: Record<string, unknown>[] = [];
  let failure: number | undefined;
  const refuse = (response: ServerResponse, status: number) => {
    const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ error: { message: 'Try again later', type: 'rate_limit_error' } }));
  };
  const answer = async (response: ServerResponse) => {
    counts.running += 1;
    counts.peak = Math.max(counts.peak, counts.running);
    response.on('close', () => {
      counts.running -= 1;
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(frames(delta({ role: 'assistant', content: said.slice(0, 3) })));
    await new Promise((resolve) => setTimeout(resolve, callMs));
    if (response.destroyed) return;
    counts.answered += 1;
    response.end(frames(delta({ content: said.slice(3) }), { ...delta({}, 'stop'), usage }, '[DONE]'));
  };
  const start = async (port: number): Promise<Server> => {
    const server = createServer({ keepAliveTimeout: 60_000 }, async (request, response) => {
      let text = '';
      for await (const piece of request.setEncoding('utf8')) text += piece;
      bodies.push(text === '' ? {} : JSON.parse(text));
      if (failure !== undefined) return refuse(response, failure);
      if (counts.running < capacity) return await answer(response);
      counts.refused += 1;
      refuse(response, 429);
    });
    server.listen(port, '127.0.0.1', 1_024);
    await once(server, 'listening');
    return server;
  };
  let server = await start(0);
  const { port } = server.address() as AddressInfo;
  const goAway = async () => {
    if (!server.listening) return;
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  const gateway: BusyGateway = {
    url: `http://127.0.0.1:${port}/v1`,
    get answered() {
      return counts.answered;
    },
    get refused() {
      return counts.refused;
    },
    get peak() {
      return counts.peak;
    },
    get bodies() {
      return bodies;
    },
    goAway,
    comeBack: async () => {
      server = await start(port);
    },
    failWith: (status) => {
      failure = status;
    },
    reset: () => {
      counts.answered = 0;
      counts.refused = 0;
      counts.peak = counts.running;
      bodies = [];
    },
    close: goAway,
  };
  return gateway;
}

/** One, until the test ends. */
export async function busyGateway(options?: BusyGatewayOptions): Promise<BusyGateway> {
  const gateway = await startBusyGateway(options);
  onTestFinished(() => gateway.close());
  return gateway;
}
