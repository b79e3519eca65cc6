import { EnvironmentServer, Hub, ToolError } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { serve } from '../../../src/environment/server/serve.ts';
import { HARNESS, serveHttp } from './clients.ts';
import { createExam } from './exam.ts';
import { modern, send } from './raw-http.ts';

const PATHS = ['/svc', '/svc/tools', '/svc/resources', '/svc/prompts', '/svc/scenarios'] as const;
const KEY = 'k'.repeat(32);

const get = async (url: string, path: string) => {
  const reply = await send(url, { method: 'GET', path, headers: { accept: '*/*' } });
  expect([reply.status, reply.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
  return JSON.parse(reply.text);
};
const getPage = (url: string, headers: Record<string, string> = {}) =>
  send(url, { method: 'GET', path: '/svc', headers: { accept: 'text/html,*/*;q=0.8', ...headers } });

describe('the development helpers', () => {
  it('GET /svc is an overview', async () => {
    expect(await get(await serveHttp(createExam()), '/svc')).toEqual({
      name: 'proctor development helpers',
      server: 'exam',
      version: '1.2.3',
      endpoints: {
        tools: '/svc/tools',
        resources: '/svc/resources',
        prompts: '/svc/prompts',
        scenarios: '/svc/scenarios',
      },
      description: expect.stringMatching(/\S/),
    });
  });

  it('GET /svc/tools gives each tool of an agent with its schemas', async () => {
    const environment = createExam()().tool(
      'sum',
      { description: 'Adds.', args: { a: z.int() }, returns: z.object({ sum: z.int() }) },
      ({ a }) => ({ sum: a }),
    );
    const { server, tools, count } = await get(await serveHttp(environment), '/svc/tools');
    expect([server, count]).toEqual(['exam', tools.length]);
    expect(tools.find(({ name }: { name: string }) => name === 'sum')).toEqual({
      name: 'sum',
      description: 'Adds.',
      input_schema: expect.objectContaining({ type: 'object', properties: { a: expect.anything() } }),
      output_schema: expect.objectContaining({ type: 'object' }),
      audience: 'agent',
    });
    expect(Object.keys(tools.find(({ name }: { name: string }) => name === 'crash')).sort()).toEqual([
      'audience',
      'description',
      'input_schema',
      'name',
    ]);
  });

  it('GET /svc/resources, /svc/prompts and /svc/scenarios give theirs', async () => {
    const url = await serveHttp(createExam());
    const { resources, count } = await get(url, '/svc/resources');
    expect(resources).toHaveLength(count);
    expect(resources).toContainEqual({
      uri: 'exam://rules',
      name: expect.any(String),
      description: 'The rules.',
      mime_type: expect.toSatisfy((type: unknown) => type === null || typeof type === 'string'),
    });
    const { prompts } = await get(url, '/svc/prompts');
    expect(prompts).toContainEqual({
      name: 'greet',
      description: '',
      arguments: [{ name: 'name', description: expect.any(String), required: true }],
    });
    const { scenarios } = await get(url, '/svc/scenarios');
    expect(scenarios[0]).toMatchObject({
      name: 'exam:count_to',
      required_args: ['target'],
      args_schema: { type: 'object' },
    });
  });

  it('show what an agent sees, nothing of the harness’s, not to who declares itself one either', async () => {
    const url = await serveHttp(createExam(), { harnessKey: KEY });
    const agent = JSON.parse((await send(url, modern('tools/list'))).text).result.tools.map(
      ({ name }: { name: string }) => name,
    );
    const { tools } = await get(url, '/svc/tools');
    expect(tools.map(({ name }: { name: string }) => name)).toEqual(agent);
    const everything = [
      await getPage(url),
      ...(await Promise.all(
        PATHS.map((path) => send(url, { method: 'GET', path, headers: { accept: '*/*', 'svc-audience': 'harness' } })),
      )),
    ];
    for (const { text } of everything) {
      const secrets = ['"name":"setup"', 'evaluate', 'solution', 'vault', 'exam://key', 'grading', KEY];
      for (const secret of secrets) expect(text).not.toContain(secret);
    }
  });

  it('run no hook, leave no session behind, and stand while the session cap is reached', async () => {
    const events: string[] = [];
    const url = await serveHttp(createExam(events), { maxSessions: 1 });
    await send(url, modern('tools/call', { name: 'increment' }));
    const before = [...events];
    for (const path of PATHS) await get(url, path);
    await getPage(url);
    expect(events).toEqual(before);
    expect(
      JSON.parse((await send(url, modern('tools/call', { name: 'increment' }))).text).result.structuredContent,
    ).toEqual({ count: 2 });
  });

  it('answer HEAD, and nothing else but GET; an unknown path below is a 404', async () => {
    const url = await serveHttp(createExam());
    for (const path of PATHS) {
      expect((await send(url, { method: 'HEAD', path })).status).toBe(200);
      const posted = await send(url, { path, body: '{}' });
      expect([posted.status, posted.headers.allow, JSON.parse(posted.text).error.code]).toEqual([
        405,
        'GET, HEAD, OPTIONS',
        'method_not_allowed',
      ]);
    }
    for (const path of ['/svc/', '/svc/nope', '/svc/tools/call', '//svc']) {
      expect((await send(url, { method: 'GET', path })).status).toBe(404);
    }
  });

  it('are there on loopback alone, asked by a loopback name alone, and can be turned off', async () => {
    const off = await serveHttp(createExam(), { helpers: false });
    const wide = await serveHttp(createExam(), { host: '0.0.0.0', bearerToken: 'secret' });
    const headers = { authorization: 'Bearer secret' };
    for (const path of PATHS) {
      expect((await send(off, { method: 'GET', path })).status).toBe(404);
      expect((await send(wide, { method: 'GET', path, headers })).status).toBe(404);
    }
    const proxied = await serveHttp(createExam(), { allowedHosts: ['proctor.example'] });
    for (const [name, value] of [
      ['host', 'proctor.example'],
      ['origin', 'https://proctor.example'],
      ['origin', 'null'],
      ['host', 'evil.example'],
    ] as const) {
      expect((await send(proxied, { method: 'GET', path: '/svc', headers: { [name]: value } })).status).toBe(403);
    }
    const guarded = await serveHttp(createExam(), { bearerToken: 'secret' });
    expect((await send(guarded, { method: 'GET', path: '/svc' })).status).toBe(401);
    expect((await send(guarded, { method: 'GET', path: '/svc', headers })).status).toBe(200);
  });

  it('say 500 in our own words where the environment cannot be made', async () => {
    let made = 0;
    const build = () => {
      made += 1;
      if (made > 1) throw new Error('secret cause');
      return new EnvironmentServer({ name: 'once' });
    };
    const url = await serveHttp(build);
    await get(url, '/svc/tools');
    const failed = await send(url, { method: 'GET', path: '/svc/tools' });
    expect([failed.status, failed.text]).toEqual([500, expect.not.stringContaining('secret')]);
    expect(JSON.parse(failed.text).error).toMatchObject({ type: 'server_error', code: 'internal_error' });
  });
});

describe('the page at /svc', () => {
  it('comes where HTML is preferred, under the policy of the pages, which makes no markup or code of a text', async () => {
    const { headers, text, status } = await getPage(await serveHttp(createExam()));
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(String(headers['content-security-policy']).split('; ').sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "img-src 'self' data: blob:",
      'media-src data:',
      "require-trusted-types-for 'script'",
      "script-src 'self'",
      "style-src 'self'",
      "trusted-types 'none'",
    ]);
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect(text.match(/<(script|style)[^>]*>/g)).toHaveLength(1);
    expect(text).not.toMatch(/\son\w+=/);
    for (const accept of ['application/json', '*/*', 'application/json, text/html;q=0.5']) {
      const { headers: json } = await getPage(await serveHttp(createExam()), { accept });
      expect(json['content-type']).toBe('application/json; charset=utf-8');
    }
  });

  it('holds nothing of the environment, not even its name, and names the MCP endpoint whatever is in its path', async () => {
    const attack = `"><script>alert(1)</script>'&`;
    const path = "/m&'x";
    const url = await serveHttp(new EnvironmentServer({ name: `n ${attack}`, version: attack }), { path });
    const { text } = await getPage(url);
    expect(text).not.toContain('alert');
    expect(text).toContain(`data-mcp="/m&#38;'x"`);
  });

  it('loads script and style from this server alone, by names that change with the content', async () => {
    const url = await serveHttp(createExam());
    const addresses = [...(await getPage(url)).text.matchAll(/(?:src|href)="(?!data:)([^"]+)"/g)].map(
      ([, address]) => address,
    );
    expect(addresses).toHaveLength(2);
    for (const path of addresses) {
      expect(path).toMatch(/^\/svc\/assets\/helpers-[\w-]+\.(js|css)$/);
      const { status, headers } = await send(url, { method: 'GET', path: String(path) });
      expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
      expect(headers['content-type']).toMatch(/^text\/(javascript|css); charset=utf-8$/);
      const refused = await send(url, { method: 'GET', path: String(path), headers: { host: 'evil.example' } });
      expect(refused.status).toBe(403);
    }
    for (const path of [
      '/svc/assets/',
      '/svc/assets/nope.js',
      '/svc/assets/../manifest.json',
      '/svc/assets/%2e%2e/manifest.json',
    ]) {
      const { status, text } = await send(url, { method: 'GET', path });
      expect([path, status, JSON.parse(text).error.code]).toEqual([path, 404, 'unknown_url']);
    }
    const off = await serveHttp(createExam(), { helpers: false });
    expect((await send(off, { method: 'GET', path: String(addresses[0]) })).status).toBe(404);
  });

  it('no route of the helpers gains anything by the harness key, or tells of it', async () => {
    const url = await serveHttp(createExam(), { harnessKey: KEY });
    const shown = async (headers: Record<string, string>, query = '') =>
      Promise.all(
        PATHS.map(async (path) => {
          const { status, text } = await send(url, { method: 'GET', path: `${path}${query}`, headers });
          return [path, status, text];
        }),
      );
    const plain = await shown({});
    const headers = { 'svc-harness-key': KEY, 'x-harness-key': KEY, authorization: `Bearer ${KEY}` };
    expect(await shown(headers, `?harness_key=${KEY}`)).toEqual(plain);
    expect(JSON.stringify(plain)).not.toContain(KEY);
  });

  it('calls over the MCP endpoint, which another site cannot: its Origin and what a plain form can send are refused', async () => {
    const environment = () =>
      new EnvironmentServer({ name: 'e' }).mount(
        new Hub('h', { audience: 'agent' }).tool('x', {}, () => {
          throw new ToolError('no');
        }),
      );
    const url = await serveHttp(environment);
    const call = modern('tools/call', { name: 'h' }, HARNESS);
    expect((await send(url, { ...call, headers: { ...call.headers, origin: 'https://evil.example' } })).status).toBe(
      403,
    );
    expect((await send(url, { ...call, headers: { ...call.headers, 'content-type': 'text/plain' } })).status).toBe(415);
  });

  it('is of no use at a path that has another meaning', async () => {
    for (const path of ['/svc', '/svc/tools', '/healthz', '/sse']) {
      await expect(serve(createExam(), { transport: 'http', port: 0, path })).rejects.toThrow(/another meaning/);
    }
  });
});
