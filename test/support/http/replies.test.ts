import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError, BoundaryError } from '../../../src/contract/errors.ts';
import { defineRoute, type Route } from '../../../src/support/http/api/route.ts';
import { deferred, send, serveRoutes } from './http-server.ts';
import { echo, expectError, JSON_KEY, KEY, ROUTES, serve, verifyKey } from './routes.ts';

const failing = (thrown: unknown): Route => ({
  method: 'GET',
  path: '/fails',
  summary: 'Fails',
  access: 'key',
  handle: () => {
    throw thrown;
  },
});

test('an unhandled throw is 500 internal_error; its cause is logged and nothing of it is told', async () => {
  const { url, log } = await serveRoutes([failing(new Error('secret of /home/someone'))]);
  const reply = await send(url, '/fails');
  expectError(reply, 500, {
    message: `Something failed on our side. The server's log says what, under the request id ${reply.headers['x-request-id']}.`,
    type: 'server_error',
    param: null,
    code: 'internal_error',
  });
  await expect
    .poll(() => log())
    .toContainEqual(
      expect.objectContaining({
        requestId: reply.headers['x-request-id'],
        err: expect.objectContaining({ message: 'secret of /home/someone' }),
      }),
    );
});

test.each([
  ['environment', 'environment_failed', 502, 'environment_failed'],
  ['setup', 'environment_failed', 502, 'environment_failed'],
  ['model', 'model_failed', 502, 'model_failed'],
  ['model', 'model_timeout', 504, 'model_timeout'],
  ['model', 'context_length_exceeded', 400, 'context_length_exceeded'],
] as const)('a failure of the boundary %s with %s is %i %s', async (boundary, code, status, shown) => {
  const { url } = await serveRoutes([failing(new BoundaryError(boundary, code, `no ${process.cwd()}/x.ts`))]);
  expectError(await send(url, '/fails'), status, {
    message: 'no x.ts',
    type: status === 400 ? 'invalid_request_error' : 'upstream_error',
    param: null,
    code: shown,
  });
});

test("an environment's words are told without its stack and without paths of the machine", async () => {
  const stack = '    at open (/srv/shop/environment.ts:3:1)\n    at node:internal/main/run_main_module:36:49';
  const message = `ENOENT: open '/srv/shop/orders.json', see https://shop.example/docs/errors\n${stack}`;
  const { url } = await serveRoutes([failing(new BoundaryError('environment', 'environment_failed', message))]);
  expectError(await send(url, '/fails'), 502, {
    message: "ENOENT: open '[path]', see https://shop.example/docs/errors",
    type: 'upstream_error',
    param: null,
    code: 'environment_failed',
  });
});

test('a conflict says that trying again is of no use', async () => {
  const { url } = await serveRoutes([failing(new ApiError('run_finished', 'It is over'))]);
  const reply = await send(url, '/fails');
  expect({ status: reply.status, retry: reply.headers['x-should-retry'] }).toEqual({ status: 409, retry: 'false' });
});

test('a server that shuts down refuses new work with retry-after and goes on answering reads', async () => {
  const { url, log } = await serveRoutes(ROUTES, { closing: AbortSignal.abort() });
  const reply = await send(url, '/v1/echo/a', { method: 'POST', headers: JSON_KEY, body: '{"label":"x"}' });
  expectError(reply, 503, {
    message: 'The server is shutting down and takes no new work; try again in a moment.',
    type: 'server_error',
    param: null,
    code: 'shutting_down',
  });
  expect(reply.headers['retry-after']).toBe('5');
  expect((await send(url, '/v1/items')).status).toBe(200);
  // Not a fault of ours, so that nothing but the line of the request is logged.
  await expect.poll(() => log().map((line) => line.msg)).toEqual(['request', 'request']);
});

test('the handler hears when the client goes away', async () => {
  const aborted = deferred<unknown>();
  const started = deferred<void>();
  const waiting: Route = {
    method: 'GET',
    path: '/waits',
    summary: 'Waits',
    access: 'key',
    handle: ({ signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted.resolve(signal.reason);
          reject(signal.reason);
        });
        started.resolve();
      }),
  };
  const { url, log } = await serveRoutes([waiting]);
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write('GET /waits HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await started.promise;
  socket.destroy();
  expect(await aborted.promise).toMatchObject({ message: 'The client went away' });
  expect(log().some((line) => line.level === 50)).toBe(false);
});

test('openapi.json describes the routes by the schemas that validate them', async () => {
  const { url } = await serve();
  const { json } = await send(url, '/openapi.json');
  expect(json).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'Test', version: '1.2.3' },
    paths: {
      '/v1/echo/{name}': {
        post: {
          security: [{ key: [] }],
          parameters: [{ name: 'name', in: 'path', required: true }],
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: { required: ['label'], properties: { count: { type: 'integer', minimum: 1, maximum: 500 } } },
              },
            },
          },
        },
      },
      '/v1/items': {
        get: {
          parameters: [
            { name: 'limit', in: 'query' },
            { name: 'sort', in: 'query' },
          ],
        },
      },
    },
  });
  expect(json).not.toHaveProperty(['paths', '/sign-in']);
});

test('every reference of openapi.json leads somewhere, for schemas that refer to themselves too', async () => {
  const recursive = defineRoute({ ...echo, request: z.object({ any: z.json() }), handle: () => ({}) });
  const { url } = await serveRoutes([recursive]);
  const { text, json } = await send(url, '/openapi.json');
  const references = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => (path ?? '').split('/'));
  expect(references.length).toBeGreaterThan(2);
  for (const path of references) expect(json).toHaveProperty(path);
});

test('openapi.json needs no key where the server is bound to loopback, and one elsewhere', async () => {
  const bound = async (host: string) => {
    const { url } = await serveRoutes(ROUTES, { verifyKey, host });
    return (await send(url, '/openapi.json')).status;
  };
  expect(await bound('127.0.0.1')).toBe(200);
  expect(await bound('0.0.0.0')).toBe(401);
});

test('a server without keys asks nobody for one', async () => {
  const { url } = await serveRoutes(ROUTES);
  expect((await send(url, '/v1/items')).json).toMatchObject({ account: 'local' });
});

/** What the server says to bytes that no client would send. */
async function replyTo(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.end(bytes);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

test('a request without Host, or with an Expect that nobody knows, gets an answer of ours', async () => {
  const { url } = await serve();
  const hostless = await replyTo(url, 'GET /v1/items HTTP/1.1\r\nConnection: close\r\n\r\n');
  expect(hostless).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*x-request-id: req_[\s\S]*"code":"forbidden_origin"/);
  const expecting = 'GET /v1/items HTTP/1.1\r\nHost: localhost\r\nExpect: wonders\r\nConnection: close\r\n\r\n';
  expect(await replyTo(url, expecting)).toMatch(/^HTTP\/1\.1 401 Unauthorized\r\n[\s\S]*"code":"invalid_api_key"/);
});

test('a header that has to be one and comes twice fits nothing', async () => {
  const { url } = await serve();
  const twice = (headers: string) =>
    replyTo(url, `GET /v1/items HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`).then((text) => text.slice(9, 12));
  expect(await twice('Host: localhost\r\nHost: localhost\r\n')).toBe('403');
  expect(await twice('Host: localhost\r\nHost: evil.example\r\n')).toBe('403');
  const key = `Authorization: ${KEY.authorization}\r\n`;
  expect(await twice(`Host: localhost\r\n${key}`)).toBe('200');
  expect(await twice(`Host: localhost\r\n${key}${key}`)).toBe('401');
});

test('what is not HTTP gets the JSON error too', async () => {
  const { url } = await serve();
  const text = await replyTo(url, 'nonsense\r\n\r\n');
  expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(text).toMatch(/x-request-id: req_/);
  expect(text).toContain('"code":"invalid_parameter"');
});
