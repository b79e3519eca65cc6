import { expect, test } from 'vitest';
import { ApiError } from '../../src/contract/errors.ts';
import type { HttpAppOptions } from '../../src/http/app.ts';
import type { Mount } from '../../src/http/route.ts';
import { send, serveRoutes } from './http-server.ts';

const KEY = { authorization: 'Bearer good' };
const CALLER = { account: 'acme', keyId: 'k1', requestsPerMinute: null };

/** A path at which every request is answered with its method and its caller. */
const echo: Mount = {
  path: '/echo',
  methods: ['GET', 'POST'],
  operations: { post: { summary: 'Says it again', responses: {} } },
  async handle(request, response, caller) {
    if (request.method === 'PATCH') throw new ApiError('internal_error', 'PATCH breaks it');
    response.end(`${request.method} of ${caller?.keyId}`);
  },
};

function serve(mount: Mount = echo, options: Partial<HttpAppOptions> = {}) {
  return serveRoutes([], { mounts: [mount], verifyKey: (key) => (key === 'good' ? CALLER : undefined), ...options });
}

test('a mount gets every method at exactly its path, with the caller', async () => {
  const { url } = await serve();
  for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
    expect(await send(url, '/echo?a=1', { method, headers: KEY })).toMatchObject({ text: `${method} of k1` });
  }
  expect(await send(url, `${url}/echo`, { headers: KEY })).toMatchObject({ status: 200 });
  for (const path of ['/echo/', '/echo/a', '//echo', '/Echo']) {
    expect(await send(url, path, { headers: KEY })).toMatchObject({
      status: 404,
      json: { error: { code: 'unknown_url' } },
    });
  }
});

test('Host, Origin and key are checked before a mount sees a request, and every reply has its id', async () => {
  const { url } = await serve();
  const replies = [
    await send(url, '/echo', { headers: { ...KEY, host: 'evil.example' } }),
    await send(url, '/echo', { headers: { ...KEY, origin: 'https://evil.example' } }),
    await send(url, '/echo'),
    await send(url, '/echo', { headers: { authorization: 'Bearer bad' } }),
  ];
  expect(replies.map(({ status }) => status)).toEqual([403, 403, 401, 401]);
  expect(new Set(replies.map(({ headers }) => headers['x-request-id'])).size).toBe(4);
});

test('a mount refuses in its own form, or else in that of the routes', async () => {
  const { url } = await serve();
  expect(await send(url, '/echo', { method: 'PATCH', headers: KEY })).toMatchObject({
    status: 500,
    json: { error: { message: 'PATCH breaks it', code: 'internal_error' } },
  });
  const own = await serve({
    ...echo,
    refuse: (_request, response, thrown) => response.writeHead(418).end(String(thrown)),
  });
  for (const request of [{ method: 'PATCH', headers: KEY }, { method: 'GET' }]) {
    expect(await send(own.url, '/echo', request)).toMatchObject({
      status: 418,
      text: expect.stringContaining('ApiError'),
    });
  }
});

test('a preflight of a mount allows its methods and the headers that are asked for', async () => {
  const { url } = await serve();
  const headers = {
    origin: 'http://localhost:5173',
    'access-control-request-headers': 'Mcp-Param-Region, content-type',
  };
  expect(await send(url, '/echo', { method: 'OPTIONS', headers })).toMatchObject({
    status: 204,
    headers: {
      'access-control-allow-origin': 'http://localhost:5173',
      'access-control-allow-methods': 'GET, POST, OPTIONS',
      'access-control-allow-headers': 'mcp-param-region, content-type',
    },
  });
});

test('while the server closes, a mount takes nothing but DELETE', async () => {
  const { url } = await serve(echo, { closing: AbortSignal.abort() });
  const statusOf = async (method: string) => (await send(url, '/echo', { method, headers: KEY })).status;
  expect([await statusOf('GET'), await statusOf('POST'), await statusOf('DELETE')]).toEqual([503, 503, 200]);
});

test('the document of a server describes the operations of its mounts, with the key that they ask for', async () => {
  const { url } = await serve();
  expect((await send(url, '/openapi.json')).json).toMatchObject({
    paths: { '/echo': { post: { summary: 'Says it again', security: [{ key: [] }] } } },
  });
});

test('requests of a mount are logged and observed like those of routes', async () => {
  const observed: unknown[] = [];
  const { url, log } = await serve(echo, {
    observe: ({ method, route, status }) => observed.push([method, route, status]),
  });
  const { headers } = await send(url, '/echo?token=secret', { headers: KEY });
  await expect
    .poll(log)
    .toMatchObject([{ requestId: headers['x-request-id'], path: '/echo', method: 'GET', status: 200 }]);
  expect(observed).toEqual([['GET', '/echo', 200]]);
});
