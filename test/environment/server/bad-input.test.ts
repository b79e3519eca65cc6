import { UriTemplate } from '@modelcontextprotocol/server';
import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ServeOptions } from '../../../src/environment/server/serve.ts';
import { matchTemplate } from '../../../src/environment/server/session/match-template.ts';
import { until } from '../../until.ts';
import { Child, fixture } from './child.ts';
import { connect, connectInMemory, errorOf, openMemory, serveHttp, textOf } from './clients.ts';
import { createExam } from './exam.ts';
import { modern, openSession, rpc, send } from './raw-http.ts';

const errorIn = (text: string) => JSON.parse(text).error as { code: number; message: string };

describe('parameters of the wrong type', () => {
  const requests: readonly (readonly [string, Record<string, unknown>, string])[] = [
    ['tools/list', { cursor: 5 }, 'Invalid params of tools/list: cursor: '],
    ['tools/call', { name: 5 }, 'Invalid params of tools/call: name: must be a string, got 5'],
    ['tools/call', { name: 'echo', arguments: [1] }, 'Invalid params of tools/call: arguments: must be an object, got'],
    ['resources/read', { uri: {} }, 'Invalid params of resources/read: uri: '],
    ['prompts/get', { name: 'greet', arguments: { name: 1 } }, 'Invalid params of prompts/get: arguments.name: '],
    ['completion/complete', { ref: 5 }, 'Invalid params of completion/complete: ref: '],
  ];

  it('are invalid params that name the field, in both eras', async () => {
    const url = await serveHttp(createExam());
    const headers = { 'mcp-session-id': await openSession(url) };
    for (const [method, params, message] of requests) {
      for (const raw of [{ headers, body: rpc(method, params) }, modern(method, params)]) {
        const error = errorIn((await send(url, raw)).text);
        expect(error).toMatchObject({ code: -32602, message: expect.stringContaining(message) });
        expect(error.message).not.toMatch(/[\n{]/);
      }
    }
  });

  it('of the handshake too, which may be tried again', async () => {
    const url = await serveHttp(createExam());
    const broken = await send(url, { body: rpc('initialize', { protocolVersion: 5 }) });
    expect(errorIn(broken.text)).toMatchObject({ code: -32602, message: expect.stringContaining('protocolVersion: ') });
    expect(await openSession(url)).toMatch(/./);
  });
});

describe('a request over stdio', () => {
  it('with an id that is still in use is refused, so that the first can still be cancelled', async () => {
    const child = new Child(['--import', 'tsx', fixture('lifecycle.ts')]);
    const client = await connect(child);
    const refusals: unknown[] = [];
    const receive = child.onmessage;
    child.onmessage = (message) =>
      'id' in message && message.id === null ? refusals.push(message) : receive?.(message);
    const call = { jsonrpc: '2.0', id: 'twice', method: 'tools/call', params: { name: 'stay' } } as const;
    await child.send(call);
    await child.send(call);
    await until(() => refusals.length > 0);
    expect(refusals).toMatchObject([{ error: { code: -32600, message: expect.stringContaining('"twice"') } }]);
    await child.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'twice' } });
    // Nothing is open any more: the end of the input ends the process without waiting for an answer.
    expect(textOf(await client.callTool({ name: 'nap' }))).toBe('awake');
    await child.send({ ...call, params: { name: 'nap' } });
    child.process.stdin?.end();
    expect(await child.exited).toBe(0);
  });
});

describe('a URI', () => {
  const matched = (template: string, uri: string) => matchTemplate(new UriTemplate(template), uri);

  it('is matched by a template with the first variables as long as can be', () => {
    expect(matched('a://{x}', 'a://b%20c')).toEqual({ x: 'b c' });
    expect(matched('a://{x}-{y}', 'a://p-q-r')).toEqual({ x: 'p-q', y: 'r' });
    expect(matched('a://{x}{y}/end', 'a://pqr/end')).toEqual({ x: 'pq', y: 'r' });
    expect(matched('a://{x}-{y}_{z}', 'a://p-q-r_s_t')).toEqual({ x: 'p-q', y: 'r_s', z: 't' });
    expect(matched('a://{x}/b/{y}', 'a://p/b/q')).toEqual({ x: 'p', y: 'q' });
    expect(matched('a://{+path}', 'a://p/q')).toEqual({ path: 'p/q' });
  });

  it.each([
    ['a://{x}', 'a://'],
    ['a://{x}', 'b://p'],
    ['a://{x}', 'a://p/q'],
    ['a://{x}', 'a://p,q'],
    ['a://{x}', 'a://%E0%A4%A'],
    ['a://{x}/end', 'a://p/en'],
    ['a://{x}-{y}', 'a://-q'],
    ['a://{x}-{y}', 'a://p-'],
    ['a://{x}{y}', 'a://p'],
    ['a://{x}aa{y}', 'a://paq'],
    ['a://{x}aa', 'a://a'],
    ['a://{+path}', `a://${'p'.repeat(2_000)}`],
  ])('is not matched: %s by %s', (template, uri) => {
    expect(matched(template, uri)).toBeUndefined();
  });

  it('that a template could divide in countless ways does not keep the process busy', async () => {
    const code = `
      import { EnvironmentServer, serve } from 'proctor';
      serve(() => new EnvironmentServer({ name: 'e' }).resource('a://{v}-{w}-{x}-{y}-{z}', {}, () => 'x'));`;
    const client = await connect(new Child(['--input-type=module', '-e', code]));
    const error = await errorOf(client.readResource({ uri: `a://${'-'.repeat(5_000)}/` }));
    expect(error.message).toContain('Unknown resource');
  });
});

describe('an answer of the client', () => {
  it('that accepts without what the schema requires is none', async () => {
    const env = () =>
      new EnvironmentServer({ name: 'e' }).tool('ask', {}, async (_args, { elicit }) => {
        const properties = { ok: { type: 'boolean' } };
        const { content } = await elicit({
          message: '?',
          requestedSchema: { type: 'object', properties, required: ['ok'] },
        });
        return `ok: ${content?.ok}`;
      });
    const reports: string[] = [];
    const transport = openMemory(env, { report: (text) => reports.push(text) });
    const client = await connect(transport, { capabilities: { elicitation: {} } });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept' }));
    expect(await client.callTool({ name: 'ask' })).toMatchObject({ isError: true });
    expect(reports.join()).toContain('accepted without an answer: ok is required');
  });
});

describe('what author code gives', () => {
  const asIs = (value: unknown) => value as never;

  it('that JSON cannot hold is a failure with an answer, also where the schema of MCP lets anything through', async () => {
    const env = () => {
      const environment = new EnvironmentServer({ name: 'e' });
      environment.tool('odd', {}, () => [{ type: 'text', text: 'x', _meta: { big: 1n } }]);
      environment.prompt('odd', {}, () => [
        asIs({ role: 'user', content: { type: 'text', text: 'x', _meta: { b: 1n } } }),
      ]);
      return environment.prompt('none', {}, () => asIs(null));
    };
    const reports: string[] = [];
    const client = await connectInMemory(env, { report: (text) => reports.push(text) });
    expect(await client.callTool({ name: 'odd' })).toMatchObject({ isError: true });
    for (const name of ['odd', 'none']) {
      const error = await errorOf(client.getPrompt({ name }));
      expect(error).toEqual({ code: -32603, message: expect.stringContaining(`The prompt ${name} failed`) });
    }
    expect(reports).toHaveLength(3);
    expect(reports[2]).toContain('got null');
  });

  it('as an error that cannot be shown is still a failure of the tool, and stops no hook after it', async () => {
    const unshowable = Object.defineProperty(new Error('x'), 'name', {
      get() {
        throw new Error('no name');
      },
    });
    const events: string[] = [];
    const env = () => {
      const environment = new EnvironmentServer({ name: 'e' });
      environment.tool('fail', {}, () => {
        throw unshowable;
      });
      environment.close(() => void events.push('closed'));
      return environment.close(() => {
        throw unshowable;
      });
    };
    const client = await connectInMemory(env);
    expect(textOf(await client.callTool({ name: 'fail' }))).toBe('The tool fail failed');
    await client.close();
    await until(() => events.length > 0);
    expect(events).toEqual(['closed']);
  });
});

describe('what no client could read is refused where it is declared', () => {
  const env = new EnvironmentServer({ name: 'e' });
  const handler = () => 'x';
  const bad = (value: unknown) => value as never;
  const declarations: readonly (readonly [string, () => unknown])[] = [
    ['Tool "t": the configuration has to be an object', () => env.tool('t', bad(null), handler)],
    ['Tool "t": description has to be text, got 5', () => env.tool('t', { description: bad(5) }, handler)],
    ['Tool "t": title has to be text', () => env.tool('t', { title: bad({}) }, handler)],
    ['Tool "t": annotations has to be an object', () => env.tool('t', { annotations: bad('x') }, handler)],
    [
      'Tool "t": annotations.readOnlyHint has to be true or false, got "yes"',
      () => env.tool('t', { annotations: { readOnlyHint: bad('yes') } }, handler),
    ],
    ['Tool "t": icons has to be a list of { src }', () => env.tool('t', { icons: [bad('x.png')] }, handler)],
    ['Tool "t": meta has to be an object', () => env.tool('t', { meta: { big: bad(1n) } }, handler)],
    [
      'Tool "t", args: the schema has a value at properties.a.default that JSON cannot hold',
      () => env.tool('t', { args: { type: 'object', properties: { a: { default: 1n } } } }, handler),
    ],
    [
      'Tool "t", args, field "a": Error converting schema to JSON',
      () => env.tool('t', { args: { a: z.string().meta({ examples: [bad(1n)] }) } }, handler),
    ],
    ['Hub "h": description has to be text', () => new Hub('h', { audience: 'agent', description: bad(5) })],
    ['Resource "a://b": mimeType has to be text', () => env.resource('a://b', { mimeType: bad(5) }, handler)],
    ['Resource "a://b": audience has to be', () => env.resource('a://b', { audience: bad('Harness') }, handler)],
    ['Prompt "p": audience has to be', () => env.prompt('p', { audience: bad('all') }, handler)],
    ['Scenario "s": system has to be text', () => env.scenario('s', { system: bad(5) }, bad(handler))],
    ['Environment "e": version has to be text', () => new EnvironmentServer({ name: 'e', version: bad(5) })],
  ];

  it.each(declarations)('%s', (message, declare) => {
    expect(declare).toThrow(message);
  });
});

describe('an option of a server that would let nobody in is an error at start', () => {
  const options: readonly (readonly [string, ServeOptions])[] = [
    ['The path has to start with "/"', { path: '/mcp?x' }],
    ['The path has to start with "/"', { path: '/a b' }],
    ['maxSessions has to be a number above 0, got 0', { maxSessions: 0 }],
    ['idleTimeoutMs has to be a number above 0, got NaN', { idleTimeoutMs: Number.NaN }],
    ['maxBodyBytes has to be a number above 0, got -1', { maxBodyBytes: -1 }],
    ['No request could show this bearer token', { bearerToken: 'two words' }],
  ];

  it.each(options)('%s', async (message, given) => {
    expect((await errorOf(serveHttp(createExam(), given))).message).toContain(message);
  });
});
