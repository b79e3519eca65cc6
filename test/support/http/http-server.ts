import { type IncomingHttpHeaders, request as openRequest } from 'node:http';
import { PassThrough } from 'node:stream';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { Route } from '../../../src/support/http/api/route.ts';
import { createHttpApp, type HttpAppOptions } from '../../../src/support/http/app.ts';
import { listen } from '../../../src/support/http/listen.ts';

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: unknown;
}

export interface Send {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** A promise with its ends outside, as `Promise.withResolvers` of newer Nodes. */
export function deferred<T>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** One request over a socket, with whatever headers; `fetch` would not send a foreign Host. */
export function send(url: string, path: string, options: Send = {}): Promise<Reply> {
  const { hostname, port } = new URL(url);
  const isSized = options.body === undefined || options.headers?.['transfer-encoding'] !== undefined;
  const size = isSized ? {} : { 'content-length': Buffer.byteLength(options.body ?? '') };
  return new Promise((resolve, reject) => {
    const request = openRequest(
      { hostname, port, path, method: options.method ?? 'GET', headers: { ...size, ...options.headers }, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const isJson = response.headers['content-type']?.includes('json') === true && text !== '';
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: isJson ? JSON.parse(text) : undefined,
          });
        });
      },
    );
    request.on('error', reject);
    request.end(options.body);
  });
}

/** An app with these routes on a free port of loopback, and what it logs, until the test ends. */
export async function serveRoutes(
  routes: readonly Route[],
  options: Partial<HttpAppOptions> = {},
): Promise<{ readonly url: string; readonly log: () => readonly Record<string, unknown>[] }> {
  const lines = new PassThrough();
  let logged = '';
  lines.on('data', (chunk: Buffer) => {
    logged += chunk.toString('utf8');
  });
  const app = createHttpApp({
    title: 'Test',
    version: '1.2.3',
    host: '127.0.0.1',
    logger: pino(lines),
    routes,
    ...options,
  });
  const listener = await listen(app, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => listener.close());
  return {
    url: listener.url,
    log: () =>
      logged
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
  };
}
