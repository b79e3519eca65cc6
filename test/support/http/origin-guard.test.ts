import { expect, test } from 'vitest';
import type { Route } from '../../../src/support/http/api/route.ts';
import {
  assertBindAllowed,
  createOriginGuard,
  isLoopbackHost,
  parseAllowedHosts,
} from '../../../src/support/http/origin-guard.ts';
import { send, serveRoutes } from './http-server.ts';

const codeOf = (headers: { host?: string; origin?: string }, allowed: readonly string[] = []) => {
  try {
    createOriginGuard(allowed).check(headers);
    return 'allowed';
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  }
};

test.each([
  'localhost',
  'localhost:1234',
  'LOCALHOST',
  '127.0.0.1',
  '127.0.0.1:8320',
  '127.8.9.10',
  '[::1]',
  '[::1]:80',
])('the Host %s is a loopback name', (host) => expect(codeOf({ host })).toBe('allowed'));

test.each([
  undefined,
  '',
  'evil.example',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '127.evil.example',
  'localhost:80@evil.example',
  'evil.example#localhost',
  '[::2]',
  '10.0.0.1',
  '0.0.0.0',
  'localhost:port',
])('the Host %s is refused', (host) => expect(codeOf(host === undefined ? {} : { host })).toBe('forbidden_origin'));

test.each(['http://localhost:5173', 'https://127.0.0.1', 'http://[::1]:3000'])('the Origin %s is allowed', (origin) =>
  expect(codeOf({ host: 'localhost', origin })).toBe('allowed'),
);

test.each([
  'null',
  '',
  'https://evil.example',
  'http://localhost.evil.example',
  'file://localhost',
  'localhost',
  'http://localhost/x',
])('the Origin %j is refused', (origin) => expect(codeOf({ host: 'localhost', origin })).toBe('forbidden_origin'));

test('names of PROCTOR_ALLOWED_HOSTS are allowed, with any port unless one is named', () => {
  const allowed = parseAllowedHosts(' Proctor.example.com , other.example:8443,');
  expect(codeOf({ host: 'proctor.example.com' }, allowed)).toBe('allowed');
  expect(codeOf({ host: 'proctor.example.com:1', origin: 'https://proctor.example.com' }, allowed)).toBe('allowed');
  expect(codeOf({ host: 'other.example:8443' }, allowed)).toBe('allowed');
  expect(codeOf({ host: 'other.example' }, allowed)).toBe('forbidden_origin');
  expect(parseAllowedHosts(undefined)).toEqual([]);
});

test('an entry of PROCTOR_ALLOWED_HOSTS that is no host name is an error that shows it', () => {
  expect(() => parseAllowedHosts('https://proctor.example.com')).toThrow(
    'PROCTOR_ALLOWED_HOSTS: "https://proctor.example.com" is not a host name.',
  );
});

test('/healthz and /readyz are exempt, every other path is checked', async () => {
  const open = (path: string): Route => ({
    method: 'GET',
    path,
    summary: '',
    access: 'public',
    handle: () => ({ body: {} }),
  });
  const { url } = await serveRoutes(['/healthz', '/readyz', '/style.css'].map(open));
  const headers = { host: 'evil.example', origin: 'null' };
  expect((await send(url, '/healthz', { headers })).status).toBe(200);
  expect((await send(url, '/readyz', { headers })).status).toBe(200);
  expect((await send(url, '/style.css', { headers })).status).toBe(403);
  const refused = await send(url, '/openapi.json', { headers });
  expect(refused.json).toEqual({
    error: {
      message:
        'The Host of this request is not allowed: "evil.example". Allowed are localhost, 127.0.0.1, [::1], and the ' +
        'names in PROCTOR_ALLOWED_HOSTS of the server.',
      type: 'permission_error',
      param: null,
      code: 'forbidden_origin',
    },
  });
  expect(refused.status).toBe(403);
  expect(refused.headers).not.toHaveProperty('access-control-allow-origin');
});

test('binding elsewhere than loopback without a key is refused with what to set', () => {
  expect(() => assertBindAllowed('0.0.0.0', false, 'make one with "proctor keys create --name <name>"')).toThrow(
    'Refusing to listen on "0.0.0.0", where other machines can connect, without an API key: make one with "proctor ' +
      'keys create --name <name>", or listen on 127.0.0.1.',
  );
  assertBindAllowed('0.0.0.0', true, '');
  for (const host of ['127.0.0.1', 'localhost', '::1', '[::1]', '127.1.2.3']) assertBindAllowed(host, false, '');
  expect(isLoopbackHost('127.evil')).toBe(false);
});
