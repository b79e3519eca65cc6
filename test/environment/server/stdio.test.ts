import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { StdioClientTransport as StdioClientTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { Child, type ChildOptions, ENVIRONMENT_MAIN, fixture } from './child.ts';
import { connect, connectV1, errorOf, HARNESS, textOf } from './clients.ts';
import { openSession, rpc, send } from './raw-http.ts';

const asProgram = (name: string, options?: ChildOptions) => new Child(['--import', 'tsx', fixture(name)], options);
const byMain = (path: string, options?: ChildOptions) => new Child([ENVIRONMENT_MAIN, path], options);

const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };

describe('stdio', () => {
  it('serves the SDK’s clients of both lines and both eras', async () => {
    const start = {
      command: process.execPath,
      args: [ENVIRONMENT_MAIN, fixture('lifecycle.ts')],
      stderr: 'ignore' as const,
    };
    for (const mode of ['legacy', 'modern'] as const) {
      const client = await connect(new StdioClientTransport(start), { mode, meta: HARNESS });
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('setup');
      expect(textOf(await client.callTool({ name: 'nap' }))).toBe('awake');
      await client.close();
    }
    const v1 = await connectV1(new StdioClientTransportV1(start));
    expect((await v1.listTools()).tools.map(({ name }) => name)).not.toContain('setup');
  });

  it('answers what was asked before the end of the input, then runs close hooks, and exits with 0', async () => {
    const child = asProgram('lifecycle.ts');
    const replies: unknown[] = [];
    child.onmessage = (message) => void replies.push(message);
    await child.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: HELLO });
    await child.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'secrets' } });
    child.process.stdin?.end();
    expect(await child.exited).toBe(0);
    expect(replies).toMatchObject([{ id: 1 }, { id: 2, result: { structuredContent: { key: null } } }]);
    expect(child.stderr).toBe('initialize\nclose\n');
  });

  it('does not wait long for a request that never ends', async () => {
    const child = asProgram('lifecycle.ts');
    const client = await connect(child);
    client.callTool({ name: 'stay' }).catch(() => {});
    await client.callTool({ name: 'nap' });
    child.process.stdin?.end();
    expect(await child.exited).toBe(0);
    expect(child.stderr).toBe('initialize\nclose\n');
  });

  it('answers a line that is no message with an error, under its id where it has one, and goes on', async () => {
    const child = asProgram('lifecycle.ts');
    const client = await connect(child);
    const replies: unknown[] = [];
    const receive = child.onmessage;
    child.onmessage = (message) =>
      'id' in message && (message.id === null || message.id === 'deep') ? replies.push(message) : receive?.(message);
    child.process.stdin?.write(
      `nonsense\n{"a":1}\n{"jsonrpc":"2.0","id":"deep","method":"x","params":{"a":${'['.repeat(9_000)}${']'.repeat(9_000)}}}\n\n`,
    );
    expect(textOf(await client.callTool({ name: 'nap' }))).toBe('awake');
    expect(replies).toMatchObject([
      { id: null, error: { code: -32700 } },
      { id: null, error: { code: -32600 } },
      { id: 'deep', error: { code: -32600 } },
    ]);
  });

  it('takes JSON-RPC batches of the revisions that have them, answers each as one, and refuses them elsewhere', async () => {
    for (const [protocolVersion, isTaken] of [
      ['2024-11-05', true],
      ['2025-03-26', true],
      ['2025-06-18', false],
    ] as const) {
      const child = asProgram('lifecycle.ts');
      const replies: unknown[] = [];
      child.onmessage = (message) => void replies.push(message);
      const write = (value: unknown) => child.process.stdin?.write(`${JSON.stringify(value)}\n`);
      const message = (id: number | undefined, method: string, params: object = {}) => ({
        jsonrpc: '2.0',
        ...(id === undefined ? {} : { id }),
        method,
        params,
      });
      write([message(1, 'ping')]);
      await until(() => replies.length === 1);
      expect(replies[0]).toMatchObject({ id: null, error: { code: -32600 } });
      write(message(2, 'initialize', { ...HELLO, protocolVersion }));
      await until(() => replies.length === 2);
      write([message(3, 'ping'), message(undefined, 'notifications/initialized'), message(4, 'tools/list')]);
      await until(() => replies.length === 3);
      if (!isTaken) {
        expect(replies[2]).toMatchObject({ error: { code: -32600, message: expect.stringContaining('not part of') } });
        continue;
      }
      expect((replies[2] as { id: number }[]).map(({ id }) => id).sort()).toEqual([3, 4]);
      const bad = [[], [{ a: 1 }], [message(5, 'ping'), message(5, 'ping')], [message(6, 'initialize', HELLO)]];
      const long = Array.from({ length: 101 }, (_, id) => message(id, 'ping'));
      for (const batch of [...bad, long]) write(batch);
      await until(() => replies.length === 8);
      expect(replies.slice(3)).toMatchObject(Array.from({ length: 5 }, () => ({ error: { code: -32600 } })));
      // What is cancelled has no reply: the batch is answered without it.
      write([message(7, 'tools/call', { name: 'stay' }), message(8, 'ping')]);
      write(message(undefined, 'notifications/cancelled', { requestId: 7 }));
      await until(() => replies.length === 9);
      expect(replies[8]).toMatchObject([{ id: 8, result: {} }]);
      await child.close();
    }
  });

  it('takes messages in whatever pieces they come', async () => {
    const child = asProgram('lifecycle.ts');
    const ids: unknown[] = [];
    const client = await connect(child);
    child.onmessage = (message) => void ('id' in message && ids.push(message.id));
    const ping = (id: number, text: string) => JSON.stringify({ jsonrpc: '2.0', id, method: 'ping', params: { text } });
    child.process.stdin?.write(`${ping(1, 'x'.repeat(1_000_000))}\r\n\n${ping(2, 'é')}\n${ping(3, '').slice(0, 20)}`);
    await until(() => ids.length === 2);
    child.process.stdin?.write(`${ping(3, '').slice(20)}\n`);
    await until(() => ids.length === 3);
    expect(ids).toEqual([1, 2, 3]);
    await client.close();
  });

  it('refuses requests before initialize, and a second initialize', async () => {
    const child = asProgram('lifecycle.ts');
    const replies: { id?: unknown; error?: { code: number; message: string } }[] = [];
    child.onmessage = (message) => void replies.push(message as (typeof replies)[number]);
    const ask = (id: number, method: string, params: object = {}) =>
      child.send({ jsonrpc: '2.0', id, method, params } as never);
    await ask(1, 'tools/list');
    await ask(2, 'ping');
    await ask(3, 'initialize', HELLO);
    await ask(4, 'tools/list');
    await ask(5, 'initialize', HELLO);
    await child.close();
    const byId = new Map(replies.map((reply) => [reply.id, reply.error?.message]));
    expect(byId.get(1)).toContain('send initialize first');
    expect(byId.get(5)).toContain('initialized already');
    expect([2, 3, 4].map((id) => byId.get(id))).toEqual([undefined, undefined, undefined]);
    expect(replies).toHaveLength(5);
  });
});

describe('SIGTERM', () => {
  it('closes generators and sessions, then runs shutdown hooks once, in reverse, and exits with 0', async () => {
    const child = asProgram('lifecycle.ts');
    const client = await connect(child, { meta: HARNESS });
    await client.callTool({ name: 'setup', arguments: { name: 'open' } });
    child.process.kill('SIGTERM');
    child.process.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    const events = child.stderr.split('\n').filter((line) => /^[a-z]/.test(line) && !line.startsWith('proctor:'));
    expect(events).toEqual(['initialize', 'generator closed', 'close', 'shutdown 3', 'shutdown 2', 'shutdown 1']);
    expect(child.stderr).toContain('shutdown 2 is broken');
  });

  it('goes past a hook that hangs, within the budget', async () => {
    const child = asProgram('lifecycle.ts', { env: { HANG: '1' } });
    await connect(child);
    child.process.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    expect(child.stderr).toMatch(/shutdown 3\nproctor: .* was left behind\nshutdown 2[\s\S]*shutdown 1/);
  });

  it('ends requests over HTTP with an error, and runs the hooks of sessions that have ended before, too', async () => {
    const child = asProgram('lifecycle.ts', { env: { PROCTOR_TRANSPORT: 'http', PROCTOR_PORT: '0' } });
    await child.says('/mcp\n');
    const url = String(/http:\S+/.exec(child.stderr)?.[0]);
    const ended = { 'mcp-session-id': await openSession(url) };
    const running = { 'mcp-session-id': await openSession(url) };
    await send(url, { method: 'DELETE', headers: ended });
    const stay = send(url, { headers: running, body: rpc('tools/call', { name: 'stay' }) });
    await send(url, { headers: running, body: rpc('ping', {}, 2) });
    child.process.kill('SIGTERM');
    expect(JSON.parse((await stay).text).error.message).toBe('The session has ended');
    expect(await child.exited).toBe(0);
    expect(child.stderr.match(/shutdown 1/g)).toHaveLength(1);

    const quiet = asProgram('lifecycle.ts', { env: { PROCTOR_TRANSPORT: 'http', PROCTOR_PORT: '0' } });
    await quiet.says('/mcp\n');
    quiet.process.kill('SIGTERM');
    expect(await quiet.exited).toBe(0);
    expect(quiet.stderr.match(/shutdown 1/g)).toHaveLength(1);
  });

  it('leaves shutdown hooks their half of the budget, also where a session that ended before hangs', async () => {
    const env = { PROCTOR_TRANSPORT: 'http', PROCTOR_PORT: '0', HANG_CLOSE: '1' };
    const child = asProgram('lifecycle.ts', { env });
    await child.says('/mcp\n');
    const url = String(/http:\S+/.exec(child.stderr)?.[0]);
    const headers = { 'mcp-session-id': await openSession(url) };
    const ending = send(url, { method: 'DELETE', headers }).catch(() => {});
    await child.says('hanging');
    child.process.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    expect(child.stderr).toContain('shutdown took its time');
    await ending;
  });

  it('is not SIGINT: that ends the process without any hook', async () => {
    const child = asProgram('lifecycle.ts');
    await connect(child);
    child.process.kill('SIGINT');
    expect(await child.exited).toBe('SIGINT');
    expect(child.stderr).toBe('initialize\n');
  });
});

describe('standard output', () => {
  it('is the protocol’s alone, for the life of a program that serves itself', async () => {
    const child = asProgram('noisy.ts');
    const client = await connect(child);
    expect(textOf(await client.callTool({ name: 'print' }))).toBe('quiet');
    expect(textOf(await client.callTool({ name: 'children' }))).toBe('printed by a child');
    await client.close();
    for (const source of ['the hook', 'console', 'info', 'write', 'end'])
      expect(child.stderr).toContain(`printed by ${source}\n`);
    expect(child.stderr.match(/printed by a child/g)).toHaveLength(7);
    // What a module prints before it serves itself comes before the guard.
    expect(child.garbage).toEqual(['printed while loading']);
  });

  it('cannot be printed into while an adapter’s module loads, nor by a descriptor', async () => {
    const child = byMain(fixture('noisy.ts'), { hasProtocolDescriptor: true });
    const client = await connect(child);
    await client.callTool({ name: 'print' });
    await client.callTool({ name: 'children' });
    expect(textOf(await client.callTool({ name: 'descriptor' }))).toBe('quiet');
    await client.close();
    // An empty line says that the code is loaded.
    expect(child.garbage).toEqual(['']);
    expect(child.stderr).toContain('printed while loading\n');
    expect(child.stderr).toContain('printed by the hook\n');
    expect(child.stdout).toBe('printed to descriptor 1\n');
  });
});

describe('the harness key of a process', () => {
  it('comes on a descriptor, and is gone from the environment of author code', async () => {
    const child = byMain(fixture('lifecycle.ts'), {
      key: ' the key \n',
      hasProtocolDescriptor: true,
      env: { PROCTOR_HARNESS_KEY: 'another' },
    });
    const client = await connect(child, { meta: { ...HARNESS, 'svc/harness_key': 'the key' } });
    expect((await client.callTool({ name: 'setup', arguments: { name: 'open' } })).isError).toBeFalsy();
    const secrets = await client.callTool({ name: 'secrets' });
    expect(secrets.structuredContent).toEqual({ key: null, keyDescriptor: null, protocolDescriptor: null });
  });

  it('comes in a variable where there is no descriptor', async () => {
    const child = asProgram('lifecycle.ts', { env: { PROCTOR_HARNESS_KEY: 'the key' } });
    const client = await connect(child, { meta: { ...HARNESS, 'svc/harness_key': 'wrong' } });
    expect(await errorOf(client.callTool({ name: 'setup' }))).toMatchObject({ code: -32602 });
    expect((await client.callTool({ name: 'secrets' })).structuredContent).toMatchObject({ key: null });
  });

  it('is a start error when it is empty or cannot be read', async () => {
    for (const [options, reason] of [
      [{ key: '' }, /empty/],
      [{ env: { PROCTOR_HARNESS_KEY: '' } }, /empty/],
      [{ env: { PROCTOR_HARNESS_KEY_FD: '99' } }, /descriptor 99, which is not open/],
      [{ env: { PROCTOR_HARNESS_KEY_FD: 'three' } }, /"three"/],
      [{ env: { PROCTOR_HARNESS_KEY_FD: '1' } }, /"1"/],
      [{ env: { PROCTOR_PROTOCOL_FD: '98' } }, /PROCTOR_PROTOCOL_FD names descriptor 98/],
    ] as const) {
      const child = byMain(fixture('lifecycle.ts'), options);
      expect(await child.exited).toBe(1);
      expect(child.stderr).toMatch(reason);
      expect(child.stderr.trim().split('\n')).toHaveLength(1);
    }
  });
});

describe('a module that cannot be served', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'proctor-modules-'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([
    ['syntax.ts', 'export default 1;\nconst a = = 2;\n', /syntax\.ts:2:10: /],
    ['syntax.js', 'export default 1;\nconst a = = 2;\n', /syntax\.js:2:11: /],
    ['throws.ts', '\nthrow new Error("no luck\\nat all");\n', /throws\.ts:2:7: no luck$/],
    [
      'nothing.ts',
      'export const a = 1;\n',
      /nothing\.ts: .*by default, a class that extends EnvironmentServer.*found nothing$/,
    ],
    ['number.ts', 'export default 7;\n', /found 7$/],
    ['factory.ts', 'export default () => ({});\n', /a function that returns an object/],
    ['imports.ts', 'import "./missing.ts";\n', /missing/],
    ['absent.ts', undefined, /absent\.ts/],
  ])('%s ends with 1 and one line that says where and why', async (name, source, reason) => {
    const path = join(folder, name);
    if (source !== undefined) writeFileSync(path, source);
    const child = byMain(path);
    expect(await child.exited).toBe(1);
    expect(child.stderr.trim()).toMatch(reason);
    expect(child.stderr.trim().split('\n')).toHaveLength(1);
  });
});
