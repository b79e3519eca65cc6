import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TranscriptMessage } from '../../src/contract/chat.ts';
import type { ModelRequest } from '../../src/model/chat-model.ts';
import type { RetryTiming } from '../../src/model/retries.ts';

/** How the gateway answers one request. */
export type Play = (response: ServerResponse) => unknown;

export interface FakeGateway {
  /** The base URL, with its `/v1`. */
  readonly url: string;
  readonly requests: { path: string; headers: IncomingHttpHeaders; body: Record<string, unknown> }[];
  /** Resolves when a client has closed the connection of a request that was not answered to its end. */
  readonly clientClosed: Promise<void>;
  /** Resolves when a request has come. */
  readonly asked: Promise<void>;
  close(): Promise<void>;
}

/** A raw server over a real socket that answers each request with the next play; the last one stays. */
export async function startGateway(...plays: Play[]): Promise<FakeGateway> {
  const requests: FakeGateway['requests'] = [];
  const clientClosed = latch();
  const asked = latch();
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    response.on('close', () => {
      if (!response.writableFinished) clientClosed.open();
    });
    const play = plays[Math.min(requests.length, plays.length - 1)];
    requests.push({ path: request.url ?? '', headers: request.headers, body: text === '' ? {} : JSON.parse(text) });
    asked.open();
    await play?.(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    clientClosed: clientClosed.opened,
    asked: asked.opened,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function latch(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Play {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
}

export function frames(...chunks: readonly unknown[]): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
}

/** An event stream that is sent as it is, in these pieces, and ended. */
export function rawStream(...pieces: readonly (string | Uint8Array)[]): Play {
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

export function stream(...chunks: readonly unknown[]): Play {
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

/** A whole, ordinary answer. */
export function says(text: string): Play {
  return stream(delta({ role: 'assistant', content: '' }), delta({ content: text }), delta({}, 'stop'));
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

export const USER_MESSAGE: TranscriptMessage = { role: 'user', content: 'Hello' };

export function toRequest(fields: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: [USER_MESSAGE], tools: [], sampling: {}, signal: new AbortController().signal, ...fields };
}
