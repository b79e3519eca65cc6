import { describe, expect, it, onTestFinished } from 'vitest';
import { serve } from '../../../src/environment/server/serve.ts';
import { AS_HARNESS, KEY, modernRequest, overSession, type Params, serveAdversary, shown } from './adversary-agents.ts';
import createAdversary from './fixtures/adversary.ts';
import { initializeBody, type RawReply, rpc, send } from './raw-http.ts';

/** What an agent that has come by the key, or nearly, might try to be taken for a harness without declaring itself one. */
interface Disguise {
  readonly meta?: Params;
  readonly params?: Params;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: string;
}

const WITH_KEY = { 'svc/harness_key': KEY };
/** Where the key is right and its place, or the declaration, is not. */
const WRONG_PLACES: readonly Disguise[] = [
  { meta: WITH_KEY },
  ...['Harness', 'HARNESS', 'harness ', '', true, 1, null, ['harness'], { is: 'harness' }].map((audience) => ({
    meta: { ...WITH_KEY, 'svc/audience': audience },
  })),
  {
    meta: {
      'svc/audience': 'harness',
      harness_key: KEY,
      harnessKey: KEY,
      'svc/Harness_Key': KEY,
      'svc.harness_key': KEY,
    },
  },
  { meta: { svc: { audience: 'harness', harness_key: KEY } } },
  { meta: { _meta: AS_HARNESS } },
  { params: AS_HARNESS },
  { params: { meta: AS_HARNESS, audience: 'harness', harness_key: KEY } },
  { params: { clientInfo: { name: 'a', version: '1', _meta: AS_HARNESS, ...AS_HARNESS } } },
  { params: { capabilities: { experimental: { ...AS_HARNESS } } } },
  { headers: { authorization: `Bearer ${KEY}` } },
  { headers: { 'svc-audience': 'harness', 'svc-harness-key': KEY, 'x-svc-audience': 'harness', 'x-harness-key': KEY } },
  { headers: { cookie: `svc/audience=harness; svc/harness_key=${KEY}; harness_key=${KEY}` } },
  { headers: { 'mcp-param-svc-harness-key': KEY, 'mcp-param-svc-audience': 'harness' } },
  { query: `?svc/audience=harness&svc/harness_key=${KEY}` },
  { query: `?audience=harness&harness_key=${KEY}&harnessKey=${KEY}&key=${KEY}` },
];
/** Where the declaration is right and the key nearly. */
const WRONG_KEYS: readonly Disguise[] = [
  ...[`${KEY}x`, KEY.slice(1), KEY.slice(0, -1), `${KEY.slice(0, -1)}x`, ` ${KEY}`, `${KEY}\n`, `${KEY}\0`],
  ...[KEY.toUpperCase(), KEY + KEY, `Bearer ${KEY}`, Buffer.from(KEY).toString('base64'), 'undefined', ''],
  ...[undefined, null, true, 0, [KEY], { key: KEY }, { length: KEY.length, toString: KEY }],
].map((key) => ({ meta: { 'svc/audience': 'harness', 'svc/harness_key': key } }));

type Ask = (url: string, disguise: Disguise, method: string, params?: Params) => Promise<RawReply>;

const askModern: Ask = (url, { meta = {}, params = {}, headers = {}, query = '' }, method, own = {}) => {
  const request = modernRequest(method, { ...params, ...own, _meta: meta });
  return send(`${url}${query}`, { ...request, headers: { ...request.headers, ...headers } });
};

/** In a session of its own, disguised from its handshake on. */
const askInSession: Ask = async (url, { meta = {}, params = {}, headers = {}, query = '' }, method, own = {}) => {
  const handshake = JSON.parse(initializeBody('2025-11-25', meta));
  const body = JSON.stringify({ ...handshake, params: { ...handshake.params, ...params } });
  const opened = await send(`${url}${query}`, { headers, body });
  const session = opened.headers['mcp-session-id'];
  if (typeof session !== 'string') return opened;
  const again = { headers: { ...headers, 'mcp-session-id': session } };
  return send(`${url}${query}`, { ...again, body: rpc(method, { ...params, ...own, _meta: meta }) });
};

describe.each([
  ['2026-07-28', askModern],
  ['a session', askInSession],
] as const)('the key of the harness in %s', { timeout: 60_000 }, (_name, ask) => {
  it('opens everything where it is shown as it has to be', async () => {
    const { text } = await ask(await serveAdversary(), { meta: AS_HARNESS }, 'tools/list');
    for (const name of ['setup', 'evaluate', 'solution', 'vault', 'deep_dig']) expect(text).toContain(`"${name}"`);
  });

  it.each([
    ['in a wrong place', WRONG_PLACES],
    ['nearly right', WRONG_KEYS],
  ] as const)('opens nothing %s', async (_case, disguises) => {
    const url = await serveAdversary();
    const seen = JSON.parse((await ask(url, {}, 'tools/list')).text).result.tools;
    for (const disguise of disguises) {
      const list = await ask(url, disguise, 'tools/list');
      const call = await ask(url, disguise, 'tools/call', { name: 'setup', arguments: { name: 'S3CRET_seed' } });
      // What the protocol itself does not take, it refuses.
      if (list.text.includes('"result"')) expect(JSON.parse(list.text).result.tools).toEqual(seen);
      expect(call.text).toMatch(/Unknown tool: setup|"code":-32\d{3}/);
      expect(`${list.text}${call.text}`).not.toMatch(/S3CRET|vault|svc\/session_id/);
    }
  });
});

it('the key of the harness is of no use in a session that has begun as an agent’s', async () => {
  const agent = await overSession(await serveAdversary());
  const seen = await agent.ask('tools/list');
  expect(await agent.ask('tools/list', { _meta: AS_HARNESS })).toBe(seen);
  const call = { name: 'vault', arguments: { name: 'S3CRET_open' }, _meta: AS_HARNESS };
  expect(await agent.ask('tools/call', call)).toContain('Unknown tool: vault');
});

const HEADERS = Object.assign({}, ...WRONG_PLACES.map(({ headers }) => headers)) as Record<string, string>;
const QUERY = `?${WRONG_PLACES.flatMap(({ query }) => query?.slice(1) ?? []).join('&')}`;
const HIDDEN = /S3CRET|["/>](setup|evaluate|evaluation|solution|vault|grading|deep\w*|key)\b/;

describe('the development helpers', { timeout: 60_000 }, () => {
  it.each([
    ['http', undefined],
    ['sse', undefined],
    ['http', 'token'],
  ] as const)(
    'show what an agent sees, whoever asks and in whatever form (%s, bearer token: %s)',
    async (transport, bearerToken) => {
      const handle = await serve(createAdversary, {
        transport,
        port: 0,
        harnessKey: KEY,
        bearerToken,
        report: () => {},
      });
      onTestFinished(() => handle.close());
      const { origin } = new URL(String(handle.url));
      const authorization = bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken}` };
      const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
        send(origin, { method: 'GET', path, headers: { ...headers, ...authorization } });
      for (const route of ['', '/tools', '/resources', '/prompts', '/scenarios']) {
        for (const accept of ['application/json', 'text/html']) {
          const plain = await get(`/svc${route}`, { accept });
          expect(plain.status).toBe(200);
          expect(plain.text).not.toMatch(HIDDEN);
          expect(shown(await get(`/svc${route}${QUERY}`, { accept, ...HEADERS }))).toBe(shown(plain));
        }
      }
      const nothing = shown(await get('/svc/nothing'));
      for (const hidden of ['solution', 'evaluate', 'functions', 'tools/setup', 'harness', 'svc://scenarios', '..']) {
        expect(shown(await get(`/svc/${hidden}`)).replaceAll(hidden, 'nothing')).toBe(nothing);
      }
    },
  );
});
