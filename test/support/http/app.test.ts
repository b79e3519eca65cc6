import { expect, test } from 'vitest';
import { z } from 'zod';
import { send } from './http-server.ts';
import { expectError, KEY, serve } from './routes.ts';

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
    message: `${problem} A new key is made by "npx proctor keys create --name <name>" on the server's machine.`,
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

test.each(['http://localhost/v1/items', 'http://[/v1/items', 'http://x:99999/v1/items?a=1'])(
  'a target with a host before the path, %s, is the path: checked and answered like it',
  async (target) => {
    const { url } = await serve();
    expect(await send(url, target, { headers: KEY })).toMatchObject({ status: 200 });
    const refused = await send(url, target);
    expect(refused).toMatchObject({ status: 401, json: { error: { code: 'invalid_api_key' } } });
    expect(refused.headers).toHaveProperty('x-request-id');
    expect((await send(url, target, { headers: { ...KEY, host: 'evil.example' } })).status).toBe(403);
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
