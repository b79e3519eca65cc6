import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import {
  type Dialect,
  type DialectRequest,
  type ReplyHead,
  toDialectError,
} from '../../../src/models/dialects/dialect.ts';
import { DIALECTS } from '../../../src/models/dialects/dialects.ts';
import type { ModelDelta, ModelOutput } from '../../../src/models/dialects/model-output.ts';
import { findOperation } from '../../../src/models/dialects/operations.ts';

/** How the model answers one request. */
export type Play =
  | { readonly output: ModelOutput; readonly deltas?: readonly ModelDelta[] }
  | { readonly error: ApiError; readonly afterDeltas?: readonly ModelDelta[] };

export interface DialectServer {
  readonly url: string;
  readonly requests: DialectRequest[];
  readonly paths: string[];
}

const MODELS = [{ name: 'exam-model', createdAt: Date.UTC(2026, 0, 2) }];

/** Serves all dialects on a socket, with a model that plays one after the other; the last one stays. */
export async function serveDialects(...plays: Play[]): Promise<DialectServer> {
  const requests: DialectRequest[] = [];
  const paths: string[] = [];
  const server = createServer((request, response) => {
    paths.push(`${request.method} ${request.url}`);
    answer(request, response, () => plays[Math.min(requests.length, plays.length) - 1], requests).catch(() =>
      response.destroy(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, paths };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  nextPlay: () => Play | undefined,
  requests: DialectRequest[],
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const operation = findOperation(request.method ?? '', pathname, { headers: request.headers, query: searchParams });
  if (operation === undefined) return send(response, 404, { error: `unknown path ${pathname}` });
  const dialect = DIALECTS[operation.dialect];
  if (operation.kind === 'list_models') return send(response, 200, dialect.writeModels(MODELS));
  if (operation.kind === 'get_model')
    return send(response, 200, dialect.writeModel({ name: operation.model, createdAt: 0 }));
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece;
  try {
    const { model, isStreamed } = operation;
    const read = dialect.readRequest({ body: JSON.parse(text), model, isStreamed });
    if (operation.kind === 'count_tokens') return send(response, 200, dialect.writeTokenCount(42));
    requests.push(read);
    await play(dialect, read, response, nextPlay());
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    const { status, headers, body } = dialect.writeError(toDialectError(thrown));
    send(response, status, body, headers);
  }
}

async function play(
  dialect: Dialect,
  request: DialectRequest,
  response: ServerResponse,
  played: Play | undefined,
): Promise<void> {
  const head: ReplyHead = { id: 'step1', createdAt: Date.UTC(2026, 0, 2), model: 'exam-model', promptTokens: 7 };
  if (played === undefined) throw new Error('There is nothing to play');
  if (!request.isStreamed) {
    if ('error' in played) throw played.error;
    return send(response, 200, dialect.writeResponse(request, played.output, head));
  }
  if ('error' in played && played.afterDeltas === undefined) throw played.error;
  response.setHeader('content-type', 'text/event-stream; charset=utf-8');
  const stream = dialect.createStream(request, head);
  const write = async (frames: string) => {
    response.write(frames);
    await new Promise<void>((resolve) => setImmediate(resolve));
  };
  await write(stream.keepAlive());
  for (const delta of ('error' in played ? played.afterDeltas : played.deltas) ?? []) {
    await write(stream.delta(delta));
    await write(stream.keepAlive());
  }
  if ('error' in played) {
    response.end(stream.fail(toDialectError(played.error)));
    return;
  }
  await write(stream.complete(played.output));
  await write(stream.keepAlive());
  response.end(stream.end());
}

function send(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(body));
}
