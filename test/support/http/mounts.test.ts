import { expect, test } from 'vitest';
import { ApiError } from '../../../src/contract/errors.ts';
import type { Mount } from '../../../src/support/http/api/route.ts';
import type { HttpAppOptions } from '../../../src/support/http/app.ts';
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

/** Says whose it is by its own secret. */
const seats: Mount = {
  path: '/seat',
  methods: ['GET'],
  hasOwnSecrets: true,
  async handle(request, response, caller) {
    response.end(`${request.headers.authorization} ${caller?.keyId} ${request.url}`);
  },
};

test('a mount with secrets of its own gets them as they are shown, also from before its path, and asks for no API key', async () => {
  const { url } = await serve(seats);
  const asked = async (path: string, headers: Record<string, string> = {}) => (await send(url, path, { headers })).text;
  expect(await asked('/seat')).toBe('undefined undefined /seat');
  expect(await asked('/seat', { authorization: 'Bearer mine' })).toBe('Bearer mine undefined /seat');
  expect(await asked('/r/mine/seat?a=1')).toBe('Bearer mine undefined /seat?a=1');
  expect(await asked('/r/mine/seat', { authorization: 'Bearer other' })).toBe('Bearer mine undefined /seat');
  expect(await asked(`${url}/r/mine/seat`)).toBe('Bearer mine undefined /seat');
});

test('a secret in a path leads to such a mount alone, and is told nowhere', async () => {
  const { url, log } = await serveRoutes([], {
    mounts: [seats, echo],
    verifyKey: (key) => (key === 'good' ? CALLER : undefined),
  });
  const paths = [
    '/r/s3cret/echo',
    '/r/s3cret/openapi.json',
    '/r/s3cret',
    '/r/s3cret/',
    '//r/s3cret/seat',
    '/r//s3cret/seat',
  ];
  for (const path of paths) {
    const reply = await send(url, path, { headers: KEY });
    expect([path, reply.status]).toEqual([path, 401]);
    expect(reply.text).not.toContain('s3cret');
  }
  // An API key before a path is none.
  expect((await send(url, '/r/good/echo')).status).toBe(401);
  await send(url, '/r/s3cret/seat');
  await expect.poll(() => JSON.stringify(log())).toContain('"path":"/seat"');
  expect(JSON.stringify(log())).not.toContain('s3cret');
});

test('without such a mount /r is a path as any other', async () => {
  const { url } = await serve();
  const reply = await send(url, '/r/word/echo', { headers: KEY });
  expect(reply).toMatchObject({ status: 404, json: { error: { message: expect.stringContaining('/r/word/echo') } } });
});
