import { afterAll, expect, it } from 'vitest';
import { errorBodySchema } from '../../../src/contract/error-shapes.ts';
import { ERRORS, type ReplyErrorCode } from '../../../src/contract/errors.ts';
import { type Reply, type Send, send } from '../../support/http/http-server.ts';
import { counting, openServer, type TestServer, type TestServerOptions } from './server.ts';

export const CHAT = '/v1/chat/completions';
export const HELLO = [{ role: 'user', content: 'Hello.' }];
/** A first turn that would be answered. */
export const start = { messages: HELLO, ...counting(1) };
export const JSON_TYPE = { 'content-type': 'application/json' };

export type Expected = readonly [status: number, code: ReplyErrorCode, param: string | null];

export const invalid = (param: string | null): Expected => [400, 'invalid_parameter', param];
export const missing = (param: string): Expected => [400, 'missing_required_parameter', param];

/** The form that every error has, and what this one says. */
export function expectRefused(reply: Reply, [status, code, param]: Expected, says: RegExp): void {
  const { error } = errorBodySchema.strict().parse(reply.json);
  expect([reply.status, error.code, error.param, error.type]).toEqual([status, code, param, ERRORS[code].type]);
  expect(error.message).toMatch(says);
  expect(error.message).not.toMatch(/\n\s+at |\/src\/|node_modules/);
  expect(reply.headers['x-request-id']).toBeTruthy();
  expect(reply.headers['x-should-retry']).toBe(status === 409 ? 'false' : undefined);
}

/** Nothing was started by what was refused. */
export async function expectUntouched(server: TestServer): Promise<void> {
  expect((await server.get('/v1/sessions?status=all')).json).toEqual({ object: 'list', sessions: [] });
  expect(server.gateway.requests).toEqual([]);
}

/** One server for the tests of a file, until they have all run; each test sees that nothing of others is in its way. */
export function sharedServer(options?: TestServerOptions): { server(): Promise<TestServer> } {
  let opened: Promise<TestServer> | undefined;
  afterAll(async () => (await opened)?.close());
  return {
    server() {
      opened ??= openServer(options);
      return opened;
    },
  };
}

/** A request to the route of chat that is refused before anything happens. */
export type Refusal = readonly [id: string, request: Send | (() => Send), expected: Expected, says: RegExp];

/** One test for each refusal, against a server that they share: each sees that nothing was started. */
export function itRefuses(refusals: readonly Refusal[]): void {
  const untouched = sharedServer();
  it.each(refusals)('%s', async (_id, request, expected, says) => {
    const server = await untouched.server();
    const reply = await send(server.url, CHAT, {
      method: 'POST',
      ...(typeof request === 'function' ? request() : request),
    });
    expectRefused(reply, expected, says);
    if (expected[0] === 405) expect(reply.headers.allow).toBe('POST, OPTIONS');
    await expectUntouched(server);
  });
}

/** A request with this JSON body. */
export const posting = (body: object, headers: Readonly<Record<string, string>> = {}): Send => ({
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify(body),
});
