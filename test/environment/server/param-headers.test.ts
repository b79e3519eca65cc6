import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startDev } from '../dev/dev-server.ts';
import { createLab } from '../dev/project.ts';
import { connect, connectInMemory, httpTransport, serveHttp, textOf } from './clients.ts';
import { modern, openSession, type RawReply, rpc, send } from './raw-http.ts';

const KEY = 'k'.repeat(32);
const AS_HARNESS = { 'svc/audience': 'harness', 'svc/harness_key': KEY };
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

/** Tools whose arguments headers repeat. What reached their code is written down in `called`. */
function createRouter(called: unknown[] = [], isOdd = false): () => EnvironmentServer {
  const note = (args: unknown) => {
    called.push(args);
    return 'called';
  };
  return () => {
    const env = new EnvironmentServer({ name: 'router' });
    env.initialize(() => void called.push('initialized'));
    env.tool(
      'query',
      {
        args: {
          region: z.string().nullish().meta({ type: 'string', 'x-mcp-header': 'Region' }),
          sql: z.string().default('select 1'),
        },
      },
      note,
    );
    env.tool(
      'plain_schema',
      {
        args: {
          type: 'object',
          properties: {
            limit: { type: 'integer', 'x-mcp-header': 'Limit' },
            dry: { type: 'boolean', 'x-mcp-header': 'Dry-Run' },
            where: { type: 'object', properties: { city: { type: 'string', 'x-mcp-header': 'City' } } },
          },
        },
      },
      note,
    );
    // What MCP does not allow: its clients leave such a tool out.
    const odd = {
      share: { type: 'number', 'x-mcp-header': 'Share' },
      list: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Item' } },
      bad: { type: 'string', 'x-mcp-header': 'not a token' },
    };
    if (isOdd) env.tool('odd', { args: { type: 'object', properties: odd } }, note);
    env.tool('bare', { args: z.looseObject({}) }, note);
    env.tool('own_meta', { args: { region: z.string().meta({ 'x-mcp-header': 'Region' }) } }, (_args, { meta }) =>
      Object.keys(meta).filter((key) => key.startsWith('svc/')),
    );
    env.scenario('narrow', { tools: ['bare'] }, async function* () {
      yield 'Go.';
      return 1;
    });
    return env;
  };
}

type Headers = Readonly<Record<string, string>>;

async function call(url: string, name: string, args: unknown, headers: Headers = {}, meta: object = {}) {
  const request = modern('tools/call', { name, arguments: args }, meta);
  return send(url, { ...request, headers: { ...request.headers, ...headers } });
}

function outcome({ status, text }: RawReply): unknown {
  const { result, error } = JSON.parse(text);
  return error === undefined ? textOf(result) : [status, error.code];
}

const MISMATCH = [400, -32_020];

describe('headers of 2026-07-28 that repeat arguments of a call', () => {
  it.each<[string, string, unknown, Headers, unknown]>([
    ['that agree', 'query', { region: 'us-east1' }, { 'Mcp-Param-Region': 'us-east1' }, 'called'],
    ['named in any case', 'query', { region: 'x' }, { 'MCP-PARAM-REGION': 'x' }, 'called'],
    ['with space around them', 'query', { region: 'x' }, { 'mcp-param-region': '  x ' }, 'called'],
    ['in Base64', 'query', { region: 'Zürich ' }, { 'mcp-param-region': base64('Zürich ') }, 'called'],
    ['that only look like Base64', 'query', { region: 'SGVsbG8=' }, { 'mcp-param-region': 'SGVsbG8=' }, 'called'],
    ['without the end of Base64', 'query', { region: '=?base64?x' }, { 'mcp-param-region': '=?base64?x' }, 'called'],
    ['of an absent argument', 'query', {}, {}, 'called'],
    ['of a null argument', 'query', { region: null }, {}, 'called'],
    ['that nobody asked for', 'query', {}, { 'mcp-param-region': 'x' }, 'called'],
    ['that no tool knows', 'bare', { region: 'x' }, { 'mcp-param-region': 'y' }, 'called'],
    ['that are missing', 'query', { region: 'x' }, {}, MISMATCH],
    ['that differ', 'query', { region: 'x' }, { 'mcp-param-region': 'y' }, MISMATCH],
    ['that differ in case', 'query', { region: 'x' }, { 'mcp-param-region': 'X' }, MISMATCH],
    ['that are empty', 'query', { region: 'x' }, { 'mcp-param-region': '' }, MISMATCH],
    ['without padding', 'query', { region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVsbG8?=' }, MISMATCH],
    ['with foreign letters', 'query', { region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVs!!!bG8=?=' }, MISMATCH],
    ['that are no UTF-8', 'query', { region: '\ufffd' }, { 'mcp-param-region': '=?base64?/w==?=' }, MISMATCH],
    ['of whole numbers', 'plain_schema', { limit: 42 }, { 'mcp-param-limit': '42.0' }, 'called'],
    ['of other numbers', 'odd', { share: 0.5 }, { 'mcp-param-share': '0.50' }, 'called'],
    ['of other whole numbers', 'plain_schema', { limit: 42 }, { 'mcp-param-limit': '43' }, MISMATCH],
    ['in hexadecimal', 'plain_schema', { limit: 42 }, { 'mcp-param-limit': '0x2a' }, MISMATCH],
    ['of booleans', 'plain_schema', { dry: false }, { 'mcp-param-dry-run': 'false' }, 'called'],
    ['of other booleans', 'plain_schema', { dry: false }, { 'mcp-param-dry-run': 'true' }, MISMATCH],
    ['of what is inside', 'plain_schema', { where: { city: 'Bern' } }, { 'mcp-param-city': 'Bern' }, 'called'],
    ['of what is inside and differs', 'plain_schema', { where: { city: 'Bern' } }, {}, MISMATCH],
    ['of items, which have none', 'odd', { list: ['x'] }, {}, 'called'],
    ['whose name is none', 'odd', { bad: 'x' }, {}, 'called'],
  ])('%s', async (_which, name, args, headers, expected) => {
    const called: unknown[] = [];
    const url = await serveHttp(createRouter(called, name === 'odd'));
    expect(outcome(await call(url, name, args, headers))).toEqual(expected);
    expect(called.length).toBe(expected === 'called' ? 2 : 0);
  });

  it('are refused by name with both values, before any code of the author runs', async () => {
    const called: unknown[] = [];
    const url = await serveHttp(createRouter(called));
    const missing = await call(url, 'query', { region: 'us-east1' });
    expect(JSON.parse(missing.text)).toMatchObject({
      id: 1,
      error: { message: 'Bad Request: the header Mcp-Param-Region is missing, arguments.region is "us-east1"' },
    });
    const long = await call(url, 'query', { region: 'x'.repeat(1_000) }, { 'mcp-param-region': 'y'.repeat(1_000) });
    expect(JSON.parse(long.text).error.message.length).toBeLessThan(300);
    expect(called).toEqual([]);
  });

  it('are sent by the client of the SDK', async () => {
    const called: unknown[] = [];
    const client = await connect(httpTransport(await serveHttp(createRouter(called))), { mode: 'modern' });
    await client.listTools();
    const args = { limit: 7, dry: true, where: { city: 'Genève' } };
    expect(textOf(await client.callTool({ name: 'plain_schema', arguments: args }))).toBe('called');
    expect(called).toEqual(['initialized', args]);
  });

  it('are no affair of a session-based revision, nor of a connection without headers', async () => {
    const called: unknown[] = [];
    const url = await serveHttp(createRouter(called));
    const headers = { 'mcp-session-id': await openSession(url), 'mcp-param-region': 'other' };
    const params = { name: 'query', arguments: { region: 'x' } };
    expect(outcome(await send(url, { headers, body: rpc('tools/call', params) }))).toBe('called');
    for (const mode of ['legacy', 'modern'] as const) {
      const client = await connectInMemory(createRouter(), { mode });
      expect(textOf(await client.callTool(params))).toBe('called');
    }
  });

  it('are those of the request, whatever its _meta says of them, which no author sees', async () => {
    const url = await serveHttp(createRouter());
    const forged = { 'svc/param_headers': { 'mcp-param-region': 'x' } };
    expect(outcome(await call(url, 'own_meta', { region: 'x' }, {}, forged))).toEqual(MISMATCH);
    expect(outcome(await call(url, 'own_meta', { region: 'x' }, { 'mcp-param-region': 'x' }, forged))).toBe('[]');
  });
});

describe('behind proctor dev', () => {
  it('headers reach the process that knows the tool', { timeout: 60_000 }, async () => {
    const lab = createLab();
    const tool = "{ args: { region: z.string().meta({ 'x-mcp-header': 'Region' }) } }";
    lab.change(
      "env.tool('label', {}, () => LABEL)",
      `env.tool('label', ${tool}, (_args, { meta }) => Object.keys(meta).join())`,
    );
    const { url } = await startDev(lab);
    expect(outcome(await call(url, 'label', { region: 'x' }))).toEqual(MISMATCH);
    expect(outcome(await call(url, 'label', { region: 'x' }, { 'mcp-param-region': 'y' }))).toEqual(MISMATCH);
    const forged = { 'svc/param_headers': { 'mcp-param-region': 'x' } };
    expect(outcome(await call(url, 'label', { region: 'x' }, {}, forged))).toEqual(MISMATCH);
    const called = outcome(await call(url, 'label', { region: 'x' }, { 'mcp-param-region': 'x' }));
    expect(called).not.toContain('svc/');
    expect(outcome(await call(url, 'version', {}))).toBe('v1');
  });
});

describe('a tool that an agent does not see', () => {
  it('answers as an unknown one, whatever the headers say', async () => {
    const url = await serveHttp(createRouter(), { harnessKey: KEY });
    const setup = { name: 'narrow', arguments: {} };
    const { result } = JSON.parse((await call(url, 'setup', setup, {}, AS_HARNESS)).text);
    const session = { 'svc/session_id': result._meta['svc/session_id'] };
    for (const headers of [{}, { 'mcp-param-region': 'x' }, { 'mcp-param-region': 'y' }]) {
      const args = { region: 'x' };
      const hidden = await call(url, 'query', args, headers, session);
      const unknown = await call(url, 'query_2', args, headers, session);
      expect(hidden.status).toBe(unknown.status);
      expect(hidden.text).toBe(unknown.text.replaceAll('query_2', 'query'));
      expect(JSON.parse(hidden.text).error).toEqual({ code: -32_602, message: 'Unknown tool: query' });
    }
    // The same session, for the harness, which sees it.
    const asHarness = { ...AS_HARNESS, ...session };
    expect(outcome(await call(url, 'query', { region: 'x' }, {}, asHarness))).toEqual(MISMATCH);
  });
});

describe('the header Mcp-Name', () => {
  it('is read as strictly', async () => {
    const url = await serveHttp(createRouter());
    const named = (name: string) => call(url, 'bare', {}, { 'mcp-name': name });
    expect(outcome(await named(base64('bare')))).toBe('called');
    for (const wrong of ['=?base64?YmFyZQ?=', '=?base64?YmFy!ZQ==?=', base64('bar')]) {
      expect(outcome(await named(wrong))).toEqual(MISMATCH);
    }
  });
});
