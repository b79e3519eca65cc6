import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { accountOf } from '../../../src/support/http/api/api-keys.ts';
import { completionOf, counting, serve, type TestServer } from './server.ts';

const ANN = { authorization: 'Bearer key-of-ann' };
const BOB = { authorization: 'Bearer key-of-bob' };

/** A server with the keys of two accounts, and a session of Ann's. */
async function open(): Promise<TestServer & { readonly id: string }> {
  const server = await serve({
    verifyKey: async (key) =>
      ['ann', 'bob']
        .filter((account) => key === `key-of-${account}`)
        .map((account) => ({ account, keyId: `key_${account}`, requestsPerMinute: null }))[0],
  });
  const id = completionOf(await server.chat('Go.', counting(1), ANN)).svc.session_id;
  return { ...server, id };
}

const call = (server: TestServer, path: string, options: object, headers: Readonly<Record<string, string>>) =>
  fetch(`${server.url}${path}`, { ...options, headers: { 'content-type': 'application/json', ...headers } });

/** A tool of `/mcp`, as an MCP client with that key calls it. */
async function callTool(server: TestServer, name: string, args: object, headers: Readonly<Record<string, string>>) {
  const client = new Client({ name: 'test', version: '0' });
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit: { headers } });
  onTestFinished(() => client.close());
  await client.connect(transport);
  return await client.callTool({ name, arguments: { ...args } });
}

describe('a session belongs to the account that started it; for another account', () => {
  it.each([
    ['reading it', 'GET', (id: string) => `/v1/sessions/${id}`, undefined],
    ['deleting it', 'DELETE', (id: string) => `/v1/sessions/${id}`, undefined],
    ['finishing it', 'POST', (id: string) => `/v1/sessions/${id}/finish`, undefined],
    [
      'continuing it',
      'POST',
      () => '/v1/chat/completions',
      (id: string) => ({ thread_id: id, messages: [{ role: 'user', content: 'Mine now.' }] }),
    ],
  ])('%s is 404 session_not_found, as for one that never was', async (_what, method, path, toBody) => {
    const server = await open();
    const ask = (id: string) => {
      const body = toBody === undefined ? {} : { body: JSON.stringify(toBody(id)) };
      return call(server, path(id), { method, ...body }, BOB);
    };
    const unknown = 'sess_0123456789abcdef0123456789abcdef';
    const [theirs, none] = [await ask(server.id), await ask(unknown)];
    expect(theirs.status).toBe(404);
    const shown = (await theirs.text()).replaceAll(server.id, unknown);
    expect(JSON.parse(shown)).toEqual(await none.json());
    expect(JSON.parse(shown).error.code).toBe('session_not_found');
    const after = await call(server, `/v1/sessions/${server.id}`, {}, ANN);
    expect(await after.json()).toMatchObject({ status: 'active', turns: 1 });
  });

  it('it is in no list, be it active or ended', async () => {
    const server = await open();
    for (const status of ['active', 'all']) {
      const list = async (headers: typeof ANN) =>
        (await (await call(server, `/v1/sessions?status=${status}`, {}, headers)).json()).sessions.map(entryIdOf);
      expect([await list(ANN), await list(BOB)]).toEqual([[server.id], []]);
      if (status === 'active') await call(server, `/v1/sessions/${server.id}/finish`, { method: 'POST' }, ANN);
    }
  });

  it.each(['/v1/lifecycle-tools/call', '/mcp/tools/call'])('the tools of %s do not find it', async (path) => {
    const server = await open();
    for (const [name, args] of [
      ['scenario_send', { session_id: server.id, message: 'Mine now.' }],
      ['scenario_finish', { session_id: server.id }],
    ] as const) {
      const body = JSON.stringify({ name, arguments: args });
      const reply = await (await call(server, path, { method: 'POST', body }, BOB)).json();
      expect(reply).toMatchObject({ isError: true, structuredContent: { error: { code: 'session_not_found' } } });
    }
  });

  it('the tools of /mcp do not find it, and those of its own account do', async () => {
    const server = await open();
    const finish = (headers: typeof ANN) => callTool(server, 'scenario_finish', { session_id: server.id }, headers);
    expect(await finish(BOB)).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'session_not_found' } },
    });
    expect(await finish(ANN)).toMatchObject({ structuredContent: { status: 'finished' } });
  });
});

it('its trace is of the account local all the same, as those of all chat sessions are', async () => {
  const server = await open();
  const { trace_id } = await (await call(server, `/v1/sessions/${server.id}`, {}, ANN)).json();
  expect(await server.store.trace(trace_id, accountOf(undefined))).toMatchObject({ origin: 'chat' });
  expect(await server.store.trace(trace_id, 'ann')).toBeUndefined();
});

const entryIdOf = ({ session_id }: { readonly session_id: string }) => session_id;
