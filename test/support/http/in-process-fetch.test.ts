import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createServiceClient } from '../../../src/client/service-client.ts';
import { ApiError } from '../../../src/contract/errors.ts';
import { LOCAL_CALLER } from '../../../src/support/http/api/api-keys.ts';
import { createInProcessFetch } from '../../../src/support/http/api/in-process-fetch.ts';
import { defineRoute, type Route } from '../../../src/support/http/api/route.ts';
import { groupOf, type RouteGroup, RouteTable } from '../../../src/support/http/api/route-table.ts';
import { TextStream } from '../../../src/support/http/text-stream.ts';
import { until } from '../../until.ts';

const BASE = 'http://in.process';
const logger = { warn: () => {}, error: () => {} };

const echo = defineRoute({
  method: 'POST',
  path: '/v1/echo/:name',
  summary: 'Echo',
  access: 'key',
  request: z.object({ text: z.string() }),
  query: z.object({ times: z.number().optional() }),
  handle: ({ params, body, queryValues, caller }) => ({
    body: { name: params.name, text: body.text, times: queryValues.times, account: caller?.account },
  }),
});

function fetchOf(...groups: readonly RouteGroup[]) {
  return createInProcessFetch({ table: new RouteTable(groups), caller: LOCAL_CALLER, logger });
}

function post(body: unknown): RequestInit {
  return { method: 'POST', body: JSON.stringify(body) };
}

describe('a fetch without a socket', () => {
  it('reads path, query and body by the schemas of the route, for its caller', async () => {
    const response = await fetchOf(groupOf(echo))(`${BASE}/v1/echo/a%20b?times=2`, post({ text: 'hi' }));
    expect(await response.json()).toEqual({ name: 'a b', text: 'hi', times: 2, account: 'local' });
    expect(response.headers.get('x-request-id')).toMatch(/./);
  });

  it.each([
    ['/v1/echo/a', { text: 7 }, 400, 'invalid_parameter', 'text'],
    ['/v1/echo/a', {}, 400, 'missing_required_parameter', 'text'],
    ['/v1/echo', { text: 'hi' }, 404, 'unknown_url', null],
    ['/v1/echo/a/b', { text: 'hi' }, 404, 'unknown_url', null],
    ['/v1/echo/%E0%A4%A', { text: 'hi' }, 404, 'unknown_url', null],
  ])('refuses %s with %j as a server does', async (path, body, status, code, param) => {
    const response = await fetchOf(groupOf(echo))(`${BASE}${path}`, post(body));
    expect(response.status).toBe(status);
    expect((await response.json()).error).toMatchObject({ code, param });
  });

  it('gives a reply without content as one', async () => {
    const remove: Route = {
      method: 'DELETE',
      path: '/v1/echo/:name',
      summary: 'Remove',
      access: 'key',
      handle: () => ({ status: 204, body: '' }),
    };
    const response = await fetchOf(groupOf(remove))(`${BASE}/v1/echo/a`, { method: 'DELETE' });
    expect([response.status, await response.text()]).toEqual([204, '']);
  });

  it('gives a client the error of the handler, with its headers, and hides other throws', async () => {
    const thrown: unknown[] = [
      new ApiError('rate_limit_exceeded', 'Too many.', { param: 'n', headers: { 'retry-after': '7' } }),
      new Error('the password is 1234'),
    ];
    const fail: Route = {
      method: 'GET',
      path: '/v1/usage',
      summary: 'Fail',
      access: 'key',
      handle() {
        throw thrown.shift();
      },
    };
    const client = createServiceClient({ baseUrl: BASE, fetch: fetchOf(groupOf(fail)), maxRetries: 0 });
    const limited = await client.usage().catch((error: unknown) => error);
    expect(limited).toBeInstanceOf(ApiError);
    expect(limited).toMatchObject({ code: 'rate_limit_exceeded', status: 429, param: 'n', retryAfterSeconds: 7 });
    const hidden = await client.usage().catch((error: unknown) => error);
    expect(hidden).toMatchObject({ code: 'internal_error', status: 500 });
    expect(String(hidden)).not.toContain('1234');
  });

  it('loads the code of a group when one of its paths is asked for, once', async () => {
    const loads: string[] = [];
    const group = (name: string, route: Route): RouteGroup => ({
      paths: [route.path],
      async load() {
        loads.push(name);
        return [route];
      },
    });
    const other: Route = { method: 'GET', path: '/v1/other', summary: 'Other', access: 'key', handle: () => ({}) };
    const fetch = fetchOf(group('echo', echo), group('other', other));
    expect(loads).toEqual([]);
    await Promise.all([1, 2, 3].map(() => fetch(`${BASE}/v1/echo/a`, post({ text: 'hi' }))));
    expect(loads).toEqual(['echo']);
  });

  it('is no answer where a group names other paths than its routes have', async () => {
    const response = await fetchOf({ paths: ['/v1/other'], load: () => [echo] })(`${BASE}/v1/other`, {});
    expect(response.status).toBe(500);
  });

  it('tells a handler that its caller is gone, by the signal of the request and by the end of reading', async () => {
    const gone: string[] = [];
    const begun: string[] = [];
    const stream = new TextStream();
    const wait: Route = {
      method: 'GET',
      path: '/v1/wait',
      summary: 'Wait',
      access: 'key',
      handle({ signal }) {
        begun.push('wait');
        return new Promise(() => signal.addEventListener('abort', () => gone.push('wait')));
      },
    };
    const follow: Route = {
      method: 'GET',
      path: '/v1/follow',
      summary: 'Follow',
      access: 'key',
      handle({ signal }) {
        signal.addEventListener('abort', () => gone.push('follow'));
        stream.push('one ');
        return { stream };
      },
    };
    const fetch = fetchOf(groupOf(wait, follow));
    const leaving = new AbortController();
    const waiting = fetch(`${BASE}/v1/wait`, { signal: leaving.signal });
    await until(() => begun.length === 1);
    leaving.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    const { body } = await fetch(`${BASE}/v1/follow`, {});
    const reader = body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('one ');
    await reader?.cancel();
    expect(gone).toEqual(['wait', 'follow']);
  });

  it('holds back a stream that is not read, and gives all of it in the end', async () => {
    const stream = new TextStream();
    const follow: Route = { method: 'GET', path: '/f', summary: 'Follow', access: 'key', handle: () => ({ stream }) };
    const response = await fetchOf(groupOf(follow))(`${BASE}/f`, {});
    for (let index = 0; index < 100; index++) stream.push(`${index},`);
    expect(stream.isBlocked).toBe(true);
    stream.end();
    expect(await response.text()).toBe(`${Array.from({ length: 100 }, (_, index) => index).join(',')},`);
  });
});
