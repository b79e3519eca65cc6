import { expect } from 'vitest';
import { z } from 'zod';
import { defineRoute, type Route } from '../../../src/support/http/api/route.ts';
import { type Reply, serveRoutes } from './http-server.ts';

export const CALLER = { account: 'acme', keyId: 'key_1', requestsPerMinute: null };
export const verifyKey = async (key: string) => (key === 'good' ? CALLER : undefined);
const verifyBrowser = async (cookie: string) =>
  cookie === 'session=ok' ? { account: 'acme', isPageToken: (token: string) => token === 'page' } : undefined;
export const KEY = { authorization: 'Bearer good' };
export const JSON_KEY = { ...KEY, 'content-type': 'application/json' };

/** A route with a body of every kind of field. */
export const echo = defineRoute({
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
export const ROUTES = [echo, items, change, health, page];
/** All of them, behind the key `good` and the cookie `session=ok`. */
export const serve = () => serveRoutes(ROUTES, { verifyKey, verifyBrowser });

export function expectError(reply: Reply, status: number, error: Record<string, unknown>): void {
  expect({ status: reply.status, body: reply.json }).toEqual({ status, body: { error } });
}
