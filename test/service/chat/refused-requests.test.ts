import { describe, expect, it } from 'vitest';
import { guardedByKey } from '../../../src/service/chat/serve-scenarios.ts';
import { calls, says } from '../../gateway.ts';
import { send } from '../../support/http/http-server.ts';
import { holdRequest } from './open-chat.ts';
import { CHAT, expectRefused, invalid, itRefuses, JSON_TYPE, sharedServer, start } from './refusal-table.ts';
import { errorOf, serve } from './server.ts';

const untouched = sharedServer();

describe('what is no request of this route is refused:', () => {
  itRefuses([
    ['http.body.empty', { headers: JSON_TYPE }, [400, 'invalid_json', null], /empty/],
    ['http.body.blank', { headers: JSON_TYPE, body: ' \n' }, [400, 'invalid_json', null], /empty/],
    ['http.body.not-json', { headers: JSON_TYPE, body: '{"messages":' }, [400, 'invalid_json', null], /not JSON/],
    [
      'http.body.not-utf8',
      { headers: JSON_TYPE, body: Buffer.from([0x22, 0xff, 0x22]) },
      [400, 'invalid_json', null],
      /UTF-8/,
    ],
    ['http.body.list', { headers: JSON_TYPE, body: '[]' }, invalid(null), /a JSON object, got \[\]/],
    ['http.body.null', { headers: JSON_TYPE, body: 'null' }, invalid(null), /a JSON object, got null/],
    ['http.body.text', { headers: JSON_TYPE, body: '"hi"' }, invalid(null), /a JSON object, got "hi"/],
    [
      'http.body.deep',
      { headers: JSON_TYPE, body: `${'['.repeat(5_000)}${']'.repeat(5_000)}` },
      invalid(null),
      /nested deeper/,
    ],
    [
      'http.body.declared',
      { headers: { 'content-type': 'text/plain' }, body: JSON.stringify(start) },
      [415, 'unsupported_media_type', null],
      /"text\/plain"/,
    ],
    [
      'http.body.form',
      { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=b' },
      [415, 'unsupported_media_type', null],
      /application\/json/,
    ],
    [
      'http.body.encoded',
      { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' }, body: 'x' },
      [415, 'unsupported_media_type', null],
      /"gzip"/,
    ],
    [
      'http.body.large',
      { headers: JSON_TYPE, body: ' '.repeat(4 * 1024 * 1024 + 1) },
      [413, 'request_too_large', null],
      /4194304 bytes/,
    ],
    ['http.method.get', { method: 'GET' }, [405, 'method_not_allowed', null], /takes POST/],
    ['http.method.put', { method: 'PUT', headers: JSON_TYPE, body: '{}' }, [405, 'method_not_allowed', null], /PUT/],
    ['http.method.delete', { method: 'DELETE' }, [405, 'method_not_allowed', null], /DELETE/],
    [
      'http.host.foreign',
      { headers: { host: 'evil.example' } },
      [403, 'forbidden_origin', null],
      /Host.*"evil\.example"/,
    ],
    [
      'http.origin.foreign',
      { headers: { origin: 'https://evil.example' } },
      [403, 'forbidden_origin', null],
      /Origin.*evil/,
    ],
    ['http.origin.null', { headers: { origin: 'null' } }, [403, 'forbidden_origin', null], /Origin.*"null"/],
  ]);

  it('http.body.limit: a body of exactly the limit is read', async () => {
    const server = await serve();
    const body = JSON.stringify(start).padEnd(4 * 1024 * 1024);
    expect((await send(server.url, CHAT, { method: 'POST', headers: JSON_TYPE, body })).status).toBe(200);
  });

  it('http.body.chunked: one over the limit that does not say its size', async () => {
    const server = await untouched.server();
    const headers = { ...JSON_TYPE, 'transfer-encoding': 'chunked' };
    const body = ' '.repeat(4 * 1024 * 1024 + 1);
    const reply = await send(server.url, CHAT, { method: 'POST', headers, body });
    expectRefused(reply, [413, 'request_too_large', null], /limit/);
  });

  it.each([
    `${CHAT}/`,
    '//v1/chat/completions',
    '/v1//sessions',
    '/v1/sessions/',
    '/v1/chat',
    '/V1/sessions',
    '/v1/%zz',
  ])('http.unknown-url: %s', async (path) => {
    const server = await untouched.server();
    expectRefused(await server.get(path), [404, 'unknown_url', null], /openapi\.json/);
  });

  it('http.origin.allowed: a loopback origin and a name of allowedHosts are let in, and preflights answered', async () => {
    const server = await serve({ allowedHosts: ['desk.example'] });
    const headers = { ...JSON_TYPE, host: 'desk.example', origin: 'https://desk.example' };
    const reply = await send(server.url, CHAT, { method: 'POST', headers, body: JSON.stringify(start) });
    expect([reply.status, reply.headers['access-control-allow-origin']]).toEqual([200, 'https://desk.example']);
    expect(reply.headers['access-control-expose-headers']).toMatch(/x-svc-session-id.*x-svc-trace-id/);
    const preflight = await send(server.url, CHAT, { method: 'OPTIONS', headers: { origin: 'http://localhost:3000' } });
    expect([preflight.status, preflight.headers['access-control-allow-headers']]).toEqual([
      204,
      expect.stringMatching(
        /anthropic-beta, anthropic-version.*idempotency-key.*x-api-key, x-goog-api-key, x-svc-session-id/,
      ),
    ]);
  });
});

describe('where a key is set,', () => {
  const KEY = 'k3y-of-the-desk';
  const withKey = { ...JSON_TYPE, authorization: `Bearer ${KEY}` };
  const { server: serveWithKey } = sharedServer(guardedByKey(KEY));

  it.each<readonly [id: string, headers: Record<string, string>]>([
    ['http.key.missing', {}],
    ['http.key.wrong', { authorization: 'Bearer nope' }],
    ['http.key.scheme', { authorization: `Basic ${KEY}` }],
    ['http.key.bare', { authorization: KEY }],
    ['http.key.empty', { authorization: 'Bearer ' }],
  ])('%s: 401 on every route, never with the key', async (_id, headers) => {
    const server = await serveWithKey();
    for (const [method, path] of [
      ['POST', CHAT],
      ['GET', CHAT],
      ['GET', '/v1/sessions'],
      ['GET', '/scenarios'],
      ['GET', '/v1/models'],
      ['POST', '/v1/sessions/x/finish'],
      ['DELETE', '/v1/sessions/x'],
      ['POST', '/v1/lifecycle-tools/call'],
      ['POST', '/mcp'],
      ['GET', '/nowhere'],
    ] as const) {
      const reply = await send(server.url, path, { method, headers });
      expectRefused(reply, [401, 'invalid_api_key', null], /key/i);
      expect(reply.headers['www-authenticate']).toBe('Bearer');
      // No key that can be made would do.
      expect(reply.text).toContain('--api-key, PROCTOR_SCENARIOS_API_KEY');
      expect(reply.text).not.toContain('keys create');
      expect(reply.text).not.toContain(KEY);
    }
  });

  it('http.key.right: with it a session is held; the scheme is matched without case', async () => {
    const server = await serveWithKey();
    const body = JSON.stringify(start);
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      const headers = { ...JSON_TYPE, authorization: `${scheme} ${KEY}` };
      expect((await send(server.url, CHAT, { method: 'POST', headers, body })).status).toBe(200);
    }
  });

  it('http.order: Host and Origin, key, path, method, body', async () => {
    const server = await serveWithKey();
    const foreign = { host: 'evil.example' };
    const codeOf = async (method: string, path: string, headers: Record<string, string>, body?: string) =>
      errorOf(await send(server.url, path, { method, headers, ...(body === undefined ? {} : { body }) }))[1];
    expect(await codeOf('PUT', '/nowhere', foreign)).toBe('forbidden_origin');
    expect(await codeOf('PUT', '/nowhere', {})).toBe('invalid_api_key');
    expect(await codeOf('PUT', '/nowhere', withKey, '{')).toBe('unknown_url');
    expect(await codeOf('PUT', CHAT, withKey, '{')).toBe('method_not_allowed');
    expect(await codeOf('POST', CHAT, withKey, '{')).toBe('invalid_json');
  });

  it('http.open: /healthz and /readyz need neither key nor Host', async () => {
    const server = await serveWithKey();
    for (const path of ['/healthz', '/readyz']) {
      expect((await send(server.url, path, { headers: { host: 'evil.example' } })).status).toBe(200);
    }
  });
});

describe('a server that shuts down', () => {
  it('http.shutting-down: takes no new work, answers what it can read, and lets the turn that runs end', async () => {
    const held = holdRequest();
    const server = await serve({ plays: [calls(['increment', { by: 1 }]), held.play], shutdownGraceMs: 10_000 });
    const running = server.post(CHAT, start);
    const response = await held.asked;
    const closing = server.server.close();
    for (const [path, body] of [
      [CHAT, start],
      ['/v1/sessions/sess_0/finish', undefined],
      ['/v1/lifecycle-tools/call', { name: 'scenario_list' }],
    ] as const) {
      const refused = await server.post(path, body);
      expectRefused(refused, [503, 'shutting_down', null], /shutting down/);
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    }
    await says('Done.')(response);
    expect((await running).status).toBe(200);
    await closing;
  });
});
