import { expect, test } from 'vitest';
import { send, serveRoutes } from './http-server.ts';
import { CALLER, expectError, JSON_KEY, KEY, ROUTES, serve, verifyKey } from './routes.ts';

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
    message: 'The body is nested deeper than 128 levels; send flatter JSON.',
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
