import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createModels, type Models } from '../src/models/gateway/create-model.ts';
import type { ConfiguredGateway } from '../src/models/gateway/model-config.ts';
import type { RetryTiming } from '../src/models/gateway/retries.ts';
import { deferred } from './support/http/http-server.ts';

/** A request that has come to the gateway. */
export interface GatewayRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

/** How the gateway answers one request. */
export type Play = (response: ServerResponse, request: GatewayRequest) => unknown;

/** An answer that is the same for every request. */
export type Answer = (response: ServerResponse) => unknown;

export interface FakeGateway {
  /** The base URL, with its `/v1`. */
  readonly url: string;
  readonly requests: GatewayRequest[];
  /** Resolves when a client has closed the connection of a request that was not answered to its end. */
  readonly clientClosed: Promise<void>;
  /** Resolves when a request has come. */
  readonly asked: Promise<void>;
  /** Cuts connections, and refuses new ones until `comeBack`. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

/** A gateway on a real socket that answers each request with the next play; the last one stays. The caller closes it. */
export async function openGateway(...plays: readonly Play[]): Promise<FakeGateway> {
  const requests: GatewayRequest[] = [];
  const clientClosed = deferred<void>();
  const asked = deferred<void>();
  const start = async (port: number): Promise<Server> => {
    const started = createServer({ keepAliveTimeout: 60_000 }, async (incoming, response) => {
      let text = '';
      for await (const piece of incoming.setEncoding('utf8')) text += piece;
      response.on('close', () => {
        if (!response.writableFinished) clientClosed.resolve();
      });
      const play = plays[Math.min(requests.length, plays.length - 1)];
      const body = text === '' ? {} : JSON.parse(text);
      const request = { path: incoming.url ?? '', headers: incoming.headers, body };
      requests.push(request);
      asked.resolve();
      await play?.(response, request);
    });
    started.listen(port, '127.0.0.1', 1_024);
    await once(started, 'listening');
    return started;
  };
  let server = await start(0);
  const { port } = server.address() as AddressInfo;
  const goAway = async () => {
    if (!server.listening) return;
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    clientClosed: clientClosed.promise,
    asked: asked.promise,
    goAway,
    comeBack: async () => {
      server = await start(port);
    },
    close: goAway,
  };
}

/** The same, until the test ends. */
export async function startGateway(...plays: readonly Play[]): Promise<FakeGateway> {
  const gateway = await openGateway(...plays);
  onTestFinished(() => gateway.close());
  return gateway;
}

/** A gateway until the test ends, and the models behind it. */
export async function startModels(
  plays: readonly Play[],
  settings: Partial<ConfiguredGateway> = {},
): Promise<{ readonly gateway: FakeGateway; readonly models: Models }> {
  const gateway = await startGateway(...plays);
  return { gateway, models: createModels({ gateways: [{ pattern: '*', baseUrl: gateway.url, ...settings }] }) };
}

/** Time that does not pass: what was slept is in `sleptMs`. */
export function fakeTiming(): RetryTiming & { readonly sleptMs: number[] } {
  const sleptMs: number[] = [];
  return {
    sleptMs,
    now: () => Date.UTC(2026, 0, 1),
    random: () => 0,
    sleep: async (milliseconds) => {
      sleptMs.push(milliseconds);
    },
  };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

export function frames(...chunks: readonly unknown[]): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
}

/** An event stream that is sent as it is, in these pieces, and ended. */
export function rawStream(...pieces: readonly (string | Uint8Array)[]): Answer {
  return async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    for (const piece of pieces) {
      response.write(piece);
      // So that each piece is a read of its own at the other end.
      await new Promise(setImmediate);
    }
    response.end();
  };
}

export function stream(...chunks: readonly unknown[]): Answer {
  return rawStream(frames(...chunks), 'data: [DONE]\n\n');
}

export function delta(fields: object, finishReason: string | null = null): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta: fields, finish_reason: finishReason }],
  };
}

export const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } as const;

/** The last chunk of a stream, with the tokens of the answer. */
export function usageChunk(usage: object = USAGE): object {
  return { ...delta({}), choices: [], usage };
}

/** A whole answer with this text, in these pieces, and its usage. */
export function says(...pieces: readonly string[]): Answer {
  const chunks = pieces.map((content) => delta({ content }));
  return stream(delta({ role: 'assistant', content: '' }), ...chunks, delta({}, 'stop'), usageChunk());
}

/** A whole answer that calls tools, and its usage: names, arguments, and the id where a test reads it. */
export function calls(...made: readonly (readonly [name: string, args: object | string, id?: string])[]): Answer {
  const tool_calls = made.map(([name, args, id = `call_${randomUUID().slice(0, 8)}`], index) => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
  }));
  return stream(delta({ role: 'assistant', content: '', tool_calls }), delta({}, 'tool_calls'), usageChunk());
}

/** The form of an answer that was not asked for as a stream. */
export function whole(message: object, finishReason = 'stop'): Answer {
  return json(200, {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finishReason }],
    usage: USAGE,
  });
}
