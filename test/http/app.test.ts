import { connect } from 'node:net';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError, BoundaryError } from '../../src/contract/errors.ts';
import { createHttpApp } from '../../src/http/app.ts';
import { defineRoute, type Route } from '../../src/http/route.ts';
import { deferred, type Reply, send, serveRoutes } from './http-server.ts';

const CALLER = { account: 'acme', keyId: 'key_1', requestsPerMinute: null };
const verifyKey = async (key: string) => (key === 'good' ? CALLER : undefined);
const verifyBrowser = async (cookie: string) => (cookie === 'session=ok' ? { account: 'acme' } : undefined);
const KEY = { authorization: 'Bearer good' };
const JSON_KEY = { ...KEY, 'content-type': 'application/json' };

const echo = defineRoute({
  method: 'POST',
  path: '/v1/echo/:name',
  summary: 'Echo',
  access: 'key',
  request: z.object({
    count: z.int().min(1).max(500).default(100),
    label: z.string().min(1),
    seed: z.int().nullable().default(null),
    tags: z.record(z.string(), z.string()).default({}),
    kind: z.enum(['a', 'b']).optional(),
    list: z.array(z.object({ role: z.string() })).optional(),
  }),
  handle: ({ body, params, caller }) => ({ body: { body, params, caller } }),
});
const items = defineRoute({
  method: 'GET',
  path: '/v1/items',
  summary: 'Items',
  access: 'key-or-browser',
  query: z.object({ limit: z.int().min(1).max(100).default(50), sort: z.enum(['x', 'y']).default('x') }),
  handle: ({ queryValues, caller }) => ({ body: { queryValues, account: caller?.account } }),
});
const change: Route = {
  method: 'POST',
  path: '/v1/changes',
  summary: 'A change',
  access: 'key-or-browser',
  handle: () => ({ status: 204 }),
};
const health: Route = {
  method: 'GET',
  path: '/healthz',
  summary: 'Health',
  access: 'public',
  handle: () => ({ body: { status: 'ok' } }),
};
const page: Route = {
  method: 'POST',
  path: '/sign-in',
  summary: 'Form',
  access: 'page',
  request: z.object({ key: z.string() }),
  handle: ({ body }) => ({ headers: { 'content-type': 'text/plain' }, body: JSON.stringify(body) }),
};
const ROUTES = [echo, items, change, health, page];
const serve = () => serveRoutes(ROUTES, { verifyKey, verifyBrowser });

function expectError(reply: Reply, status: number, error: Record<string, unknown>): void {
  expect({ status: reply.status, body: reply.json }).toEqual({ status, body: { error } });
}

test('every reply carries a unique x-request-id, which is in the log line of the request', async () => {
  const { url, log } = await serve();
  const replies = await Promise.all(
    ['/healthz', '/nowhere', '/v1/items'].map((path) => send(url, path, { headers: { 'x-request-id': 'mine' } })),
  );
  const ids = replies.map((reply) => reply.headers['x-request-id']);
  expect(new Set(ids).size).toBe(3);
  expect(ids).not.toContain('mine');
  await expect.poll(() => log().map((line) => line.requestId)).toEqual(expect.arrayContaining(ids));
});

test('a log line holds the path without the query, which may hold a token', async () => {
  const { url, log } = await serve();
  await send(url, '/healthz?token=secret');
  await expect.poll(() => log()).toMatchObject([{ path: '/healthz', status: 200, method: 'GET' }]);
  expect(JSON.stringify(log())).not.toContain('secret');
});

test('the order of checks is Host and Origin, key, path, method, body', async () => {
  const { url } = await serve();
  const foreign = { host: 'evil.example' };
  const codeOf = async (path: string, options: Parameters<typeof send>[2]) => {
    const { json } = await send(url, path, options);
    return z.object({ error: z.object({ code: z.string() }) }).parse(json).error.code;
  };
  const body = '{broken';
  expect(await codeOf('/nowhere', { method: 'POST', headers: foreign, body })).toBe('forbidden_origin');
  expect(await codeOf('/nowhere', { method: 'POST', body })).toBe('invalid_api_key');
  expect(await codeOf('/v1/echo/a', { method: 'DELETE', body })).toBe('invalid_api_key');
  expect(await codeOf('/nowhere', { method: 'POST', headers: KEY, body })).toBe('unknown_url');
  expect(await codeOf('/v1/echo/a', { method: 'DELETE', headers: KEY, body })).toBe('method_not_allowed');
  expect(await codeOf('/v1/echo/a', { method: 'POST', headers: KEY, body })).toBe('invalid_json');
});

test.each([
  ['no key', {}, 'This needs an API key: send the header "Authorization: Bearer <API_KEY>".'],
  [
    'a malformed header',
    { authorization: 'Basic Zm9v' },
    'The Authorization header has to be "Bearer <API_KEY>"; this one has another form.',
  ],
  [
    'an empty key',
    { authorization: 'Bearer ' },
    'The Authorization header has to be "Bearer <API_KEY>"; this one has another form.',
  ],
  ['an unknown key', { authorization: 'Bearer bad' }, 'The API key is unknown or was revoked.'],
])('%s is 401 with WWW-Authenticate', async (_case, headers, problem) => {
  const { url } = await serve();
  const reply = await send(url, '/v1/items', { headers: { ...headers } });
  expectError(reply, 401, {
    message: `${problem} A new key is made by "proctor keys create --name <name>" on the server's machine.`,
    type: 'authentication_error',
    param: null,
    code: 'invalid_api_key',
  });
  expect(reply.headers['www-authenticate']).toBe('Bearer');
});

test('Bearer is matched without case', async () => {
  const { url } = await serve();
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    expect((await send(url, '/v1/items', { headers: { authorization: `${scheme} good` } })).status).toBe(200);
  }
});

test('a cookie is good for reads of data routes alone, and never beside a bad key', async () => {
  const { url } = await serve();
  const cookie = { cookie: 'session=ok' };
  expect((await send(url, '/v1/items', { headers: cookie })).json).toMatchObject({ account: 'acme' });
  expect((await send(url, '/v1/items', { headers: { cookie: 'session=no' } })).status).toBe(401);
  expect((await send(url, '/v1/items', { headers: { ...cookie, authorization: 'Bearer bad' } })).status).toBe(401);
  expect((await send(url, '/v1/changes', { method: 'POST', headers: cookie })).status).toBe(401);
  expect((await send(url, '/v1/changes', { method: 'POST', headers: KEY })).status).toBe(204);
});

test.each(['/nowhere', '/v1/items/', '//v1/items', '/v1//items', '/V1/items', '/', '/v1/echo/%zz', '/%'])(
  'the unknown path %s gets the JSON error',
  async (path) => {
    const { url } = await serve();
    expectError(await send(url, path, { headers: KEY }), 404, {
      message: `Unknown URL: GET ${path}. GET /openapi.json lists what exists.`,
      type: 'not_found_error',
      param: null,
      code: 'unknown_url',
    });
  },
);

test('a method that a path does not take is 405 with Allow', async () => {
  const { url } = await serve();
  const reply = await send(url, '/v1/items', { method: 'PUT', headers: KEY });
  expectError(reply, 405, {
    message: '/v1/items does not take PUT; it takes GET, HEAD, OPTIONS.',
    type: 'invalid_request_error',
    param: null,
    code: 'method_not_allowed',
  });
  expect(reply.headers.allow).toBe('GET, HEAD, OPTIONS');
});

test('HEAD answers wherever GET does, without a body', async () => {
  const { url } = await serve();
  const [head, get] = await Promise.all(
    ['HEAD', 'GET'].map((method) => send(url, '/v1/items', { method, headers: KEY })),
  );
  expect({ status: head?.status, text: head?.text }).toEqual({ status: 200, text: '' });
  expect(head?.headers['content-length']).toBe(get?.headers['content-length']);
  expect((await send(url, '/v1/echo/a', { method: 'HEAD', headers: KEY })).status).toBe(405);
});

test('OPTIONS answers preflight for allowed origins, without a key', async () => {
  const { url } = await serve();
  const reply = await send(url, '/v1/echo/a', { method: 'OPTIONS', headers: { origin: 'http://localhost:5173' } });
  expect(reply.status).toBe(204);
  expect(reply.headers).toMatchObject({
    allow: 'POST, OPTIONS',
    'access-control-allow-origin': 'http://localhost:5173',
    'access-control-allow-methods': 'POST, OPTIONS',
    'access-control-allow-headers': expect.stringContaining('authorization'),
  });
  expect(reply.headers).not.toHaveProperty('access-control-allow-credentials');
  const foreign = await send(url, '/v1/echo/a', { method: 'OPTIONS', headers: { origin: 'https://evil.example' } });
  expect(foreign.status).toBe(403);
});

test.each([
  ['an empty body', '', {}, 400, 'The body is empty; send a JSON object.', 'invalid_json'],
  ['blanks alone', '  ', {}, 400, 'The body is empty; send a JSON object.', 'invalid_json'],
  ['an array', '[1]', {}, 400, 'The body has to be a JSON object, got [1].', 'invalid_parameter'],
  ['null', 'null', {}, 400, 'The body has to be a JSON object, got null.', 'invalid_parameter'],
  ['a text', '"x"', {}, 400, 'The body has to be a JSON object, got "x".', 'invalid_parameter'],
  [
    'broken UTF-8',
    new Uint8Array([0x7b, 0xff, 0x7d]),
    {},
    400,
    'The body is not UTF-8; send JSON in UTF-8.',
    'invalid_json',
  ],
  [
    'a form',
    'label=x',
    { 'content-type': 'application/x-www-form-urlencoded' },
    415,
    'The body is declared as "application/x-www-form-urlencoded"; send plain JSON in UTF-8 with "content-type: application/json".',
    'unsupported_media_type',
  ],
  [
    'another charset',
    '{}',
    { 'content-type': 'application/json; charset=latin1' },
    415,
    'The body is declared as "application/json; charset=latin1"; send plain JSON in UTF-8 with "content-type: application/json".',
    'unsupported_media_type',
  ],
  [
    'a packed body',
    '{}',
    { 'content-encoding': 'gzip' },
    415,
    'The body is encoded as "gzip"; send plain JSON in UTF-8 with "content-type: application/json".',
    'unsupported_media_type',
  ],
])('%s is refused', async (_case, body, headers, status, message, code) => {
  const { url } = await serve();
  const reply = await send(url, '/v1/echo/a', { method: 'POST', headers: { ...JSON_KEY, ...headers }, body });
  expectError(reply, status, { message, type: 'invalid_request_error', param: null, code });
});

test('a body that breaks off as JSON is invalid_json and says where', async () => {
  const { url } = await serve();
  const reply = await send(url, '/v1/echo/a', { method: 'POST', headers: JSON_KEY, body: '{"label":' });
  expect(reply.json).toEqual({
    error: {
      message: expect.stringMatching(/^The body is not JSON: .*\.$/),
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_json',
    },
  });
});

test.each([
  [{}, 'missing_required_parameter', 'label', 'label is required: a string that is not empty.'],
  [{ label: null }, 'invalid_parameter', 'label', 'label has to be a string that is not empty, got null.'],
  [{ label: '' }, 'invalid_parameter', 'label', 'label has to be a string that is not empty, got "".'],
  [{ label: 'x', count: 0 }, 'invalid_parameter', 'count', 'count has to be an integer from 1 to 500, got 0.'],
  [{ label: 'x', count: 501 }, 'invalid_parameter', 'count', 'count has to be an integer from 1 to 500, got 501.'],
  [{ label: 'x', count: '5' }, 'invalid_parameter', 'count', 'count has to be an integer from 1 to 500, got "5".'],
  [{ label: 'x', count: 1.5 }, 'invalid_parameter', 'count', 'count has to be an integer from 1 to 500, got 1.5.'],
  [{ label: 'x', seed: 0.5 }, 'invalid_parameter', 'seed', 'seed has to be a safe integer, got 0.5.'],
  [{ label: 'x', tags: { a: 1 } }, 'invalid_parameter', 'tags.a', 'tags.a has to be a string, got 1.'],
  [{ label: 'x', tags: [] }, 'invalid_parameter', 'tags', 'tags has to be an object of strings, got [].'],
  [{ label: 'x', tags: null }, 'invalid_parameter', 'tags', 'tags has to be an object of strings, got null.'],
  [{ label: 'x', kind: 'c' }, 'invalid_parameter', 'kind', 'kind has to be one of "a", "b", got "c".'],
  [{ label: 'x', list: [{ role: 1 }] }, 'invalid_parameter', 'list.0.role', 'list.0.role has to be a string, got 1.'],
  [{ label: 'x', list: [{}] }, 'missing_required_parameter', 'list.0.role', 'list.0.role is required: a string.'],
])(
  'the body %j is refused with the field, the offending value and what would be right',
  async (body, code, param, message) => {
    const { url } = await serve();
    const reply = await send(url, '/v1/echo/a', { method: 'POST', headers: JSON_KEY, body: JSON.stringify(body) });
    expectError(reply, 400, { message, type: 'invalid_request_error', param, code });
  },
);

test('unknown fields are ignored and an explicit null is as an absent optional scalar', async () => {
  const { url } = await serve();
  const body = JSON.stringify({ label: 'x', count: null, seed: null, kind: null, other: { deep: true } });
  const reply = await send(url, '/v1/echo/a%2Fb', { method: 'POST', headers: JSON_KEY, body });
  expect(reply.json).toEqual({
    body: { label: 'x', count: 100, seed: null, tags: {} },
    params: { name: 'a/b' },
    caller: CALLER,
  });
});

test('a JSON body without a declared type is read as JSON', async () => {
  const { url } = await serve();
  expect((await send(url, '/v1/echo/a', { method: 'POST', headers: KEY, body: '{"label":"x"}' })).status).toBe(200);
});

test('a body over the limit is 413, whether its size is declared or not, and the server goes on', async () => {
  const { url } = await serveRoutes(ROUTES, { verifyKey, bodyLimitBytes: 1_000 });
  const body = JSON.stringify({ label: 'x'.repeat(200_000) });
  for (const headers of [JSON_KEY, { ...JSON_KEY, 'transfer-encoding': 'chunked' }]) {
    expectError(await send(url, '/v1/echo/a', { method: 'POST', headers, body }), 413, {
      message: 'The body is larger than the limit of 1000 bytes of this server.',
      type: 'invalid_request_error',
      param: null,
      code: 'request_too_large',
    });
  }
  expect((await send(url, '/healthz')).status).toBe(200);
});

test('JSON nested 10,000 deep is refused and the server goes on', async () => {
  const { url } = await serve();
  const body = `{"label":"x","tags":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
  expectError(await send(url, '/v1/echo/a', { method: 'POST', headers: JSON_KEY, body }), 400, {
    message: 'The body is nested deeper than 256 levels; send flatter JSON.',
    type: 'invalid_request_error',
    param: null,
    code: 'invalid_parameter',
  });
  expect((await send(url, '/healthz')).status).toBe(200);
});

test('brackets inside of strings are no nesting', async () => {
  const { url } = await serve();
  const body = JSON.stringify({ label: `\\"${'['.repeat(1_000)}` });
  expect((await send(url, '/v1/echo/a', { method: 'POST', headers: JSON_KEY, body })).status).toBe(200);
});

test('__proto__ keys change nothing', async () => {
  const { url } = await serve();
  const body = '{"label":"x","__proto__":{"count":7},"tags":{"__proto__":"y","constructor":"z"}}';
  const reply = await send(url, '/v1/echo/a', { method: 'POST', headers: JSON_KEY, body });
  expect(reply.json).toMatchObject({ body: { count: 100, tags: { constructor: 'z' } } });
  expect(Object.hasOwn(Object.prototype, 'count')).toBe(false);
});

test.each([
  ['limit=abc', 'limit', 'limit has to be an integer from 1 to 100, got "abc".'],
  ['limit=0', 'limit', 'limit has to be an integer from 1 to 100, got 0.'],
  ['limit=', 'limit', 'limit has to be an integer from 1 to 100, got "".'],
  ['limit=0x10', 'limit', 'limit has to be an integer from 1 to 100, got "0x10".'],
  ['sort=z', 'sort', 'sort has to be one of "x", "y", got "z".'],
  ['limit=1&limit=2', 'limit', 'limit is given 2 times; give it once.'],
])('the query %s is refused with its name', async (query, param, message) => {
  const { url } = await serve();
  const reply = await send(url, `/v1/items?${query}`, { headers: KEY });
  expectError(reply, 400, { message, type: 'invalid_request_error', param, code: 'invalid_parameter' });
});

test('query values are typed and have their defaults', async () => {
  const { url } = await serve();
  const reply = await send(url, '/v1/items?limit=7&other=1', { headers: KEY });
  expect(reply.json).toEqual({ queryValues: { limit: 7, sort: 'x' }, account: 'acme' });
});

test('a page takes forms', async () => {
  const { url } = await serve();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const reply = await send(url, '/sign-in', { method: 'POST', headers, body: 'key=a%20b' });
  expect({ status: reply.status, text: reply.text }).toEqual({ status: 200, text: '{"key":"a b"}' });
});

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
  ['model', 'context_length_exceeded', 502, 'model_failed'],
] as const)('a failure of the boundary %s with %s is %i %s', async (boundary, code, status, shown) => {
  const { url } = await serveRoutes([failing(new BoundaryError(boundary, code, `no ${process.cwd()}/x.ts`))]);
  expectError(await send(url, '/fails'), status, {
    message: 'no x.ts',
    type: 'upstream_error',
    param: null,
    code: shown,
  });
});

test('a conflict says that trying again is of no use', async () => {
  const { url } = await serveRoutes([failing(new ApiError('run_finished', 'It is over'))]);
  const reply = await send(url, '/fails');
  expect({ status: reply.status, retry: reply.headers['x-should-retry'] }).toEqual({ status: 409, retry: 'false' });
});

test('a server that shuts down refuses new work with retry-after and goes on answering reads', async () => {
  const { url } = await serveRoutes(ROUTES, { isShuttingDown: () => true });
  const reply = await send(url, '/v1/echo/a', { method: 'POST', headers: JSON_KEY, body: '{"label":"x"}' });
  expectError(reply, 503, {
    message: 'The server is shutting down and takes no new work; try again in a moment.',
    type: 'server_error',
    param: null,
    code: 'shutting_down',
  });
  expect(reply.headers['retry-after']).toBe('5');
  expect((await send(url, '/v1/items')).status).toBe(200);
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

test('what is not HTTP gets the JSON error too', async () => {
  const { url } = await serve();
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.end('nonsense\r\n\r\n');
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(text).toMatch(/x-request-id: req_/);
  expect(text).toContain('"code":"invalid_parameter"');
});

test('an app can be made twice of the same routes', () => {
  const make = () =>
    createHttpApp({ title: 'T', version: '1', host: '127.0.0.1', logger: pino({ level: 'silent' }), routes: ROUTES });
  expect(make()).not.toBe(make());
});
