import { EnvironmentServer, Hub, ToolError } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { serve } from '../../src/mcp/serve.ts';
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
      const secrets = [
        'data-tool="setup"',
        '"name":"setup"',
        'evaluate',
        'solution',
        'vault',
        'exam://key',
        'grading',
        KEY,
      ];
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
        'GET, HEAD',
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
  const attack = `"><script>alert(1)</script>'&`;

  it('comes where HTML is preferred, under a policy that lets in nothing of another’s', async () => {
    const { headers, text, status } = await getPage(await serveHttp(createExam()));
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; connect-src 'self';/,
    );
    expect(policy).toContain("frame-ancestors 'none'");
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    expect(text).not.toMatch(/https?:|(src|href)="(?!#)|url\(|@import|\son\w+=/);
    for (const shown of ['increment', 'exam://items/{id}', 'greet', 'exam:count_to', 'The rules.'])
      expect(text).toContain(shown);
    for (const accept of ['application/json', '*/*', 'application/json, text/html;q=0.5']) {
      const { headers: json } = await getPage(await serveHttp(createExam()), { accept });
      expect(json['content-type']).toBe('application/json; charset=utf-8');
    }
  });

  it('escapes every text of an author', async () => {
    const environment = new EnvironmentServer({ name: `n ${attack}`, version: attack })
      .tool(
        't',
        {
          description: attack,
          args: {
            type: 'object',
            properties: { [attack]: { type: 'string', description: attack, enum: [attack], default: attack } },
          },
        },
        () => '',
      )
      .resource('a://b', { description: attack }, () => '')
      .prompt('p', { description: attack, args: { x: z.string().describe(attack) } }, () => '');
    environment.scenario('s', { description: attack, args: { y: z.string().describe(attack) } }, async function* () {
      yield 'x';
      return 1;
    });
    const { text } = await getPage(await serveHttp(environment));
    expect(text).not.toContain('<script>alert');
    expect(text.match(/<script>/g)).toHaveLength(1);
    expect(text).toContain('&#60;script&#62;alert(1)&#60;/script&#62;&#39;&#38;');
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
