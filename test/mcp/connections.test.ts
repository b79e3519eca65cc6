import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';
import { type ConnectionOptions, type ConnectionTarget, EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { EVERYTHING, everything, filesystem, odd } from '../upstream/servers.ts';
import { AS_AGENT, connectInMemory, errorOf, HARNESS, type MemoryOptions, textOf, until } from './clients.ts';

/** An environment with a tool of its own, connected to one server. */
function environment(target: ConnectionTarget, options: ConnectionOptions = {}): () => EnvironmentServer {
  return () => {
    const env = new EnvironmentServer({ name: 'composed' });
    env.tool('own', {}, () => 'mine');
    env.connect('other', target, options);
    return env;
  };
}

function open(target: ConnectionTarget, options: ConnectionOptions = {}, memory: MemoryOptions = {}): Promise<Client> {
  return connectInMemory(environment(target, options), memory);
}

const toolNames = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

async function call(client: Client, name: string, args: Record<string, unknown> = {}, meta = {}) {
  return client.callTool({ name, arguments: args, ...meta });
}

interface Received {
  readonly meta: Record<string, unknown> | null;
  readonly variables: readonly string[];
  readonly pid: number;
}

async function received(client: Client, meta = {}, name = 'received'): Promise<Received> {
  return JSON.parse(textOf(await call(client, name, {}, meta)));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function pidOf(file: string): number | undefined {
  try {
    return Number(readFileSync(file, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'connections-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe('the tools of a connected server', () => {
  it('are listed with those of the environment, under a prefix, as included and not excluded', async () => {
    const client = await open(everything, { prefix: 'ev', include: ['get-*', 'echo'], exclude: ['*-env', 'get-r*'] });
    expect(await toolNames(client)).toEqual([
      'own',
      'ev_echo',
      'ev_get-annotated-message',
      'ev_get-structured-content',
      'ev_get-sum',
      'ev_get-tiny-image',
    ]);
    expect(textOf(await call(client, 'own'))).toBe('mine');
    expect(textOf(await call(client, 'ev_get-sum', { a: 1, b: 2 }))).toBe('The sum of 1 and 2 is 3.');
    expect((await errorOf(call(client, 'ev_get-env'))).code).toBe(-32602);
    expect((await errorOf(call(client, 'echo'))).code).toBe(-32602);
  });

  it('keep their names without a prefix, and are listed and called on 2026-07-28 too, lists first', async () => {
    const client = await open(everything, { include: ['echo'] }, { mode: 'modern' });
    expect(await toolNames(client)).toEqual(['own', 'echo']);
    expect(textOf(await call(client, 'echo', { message: 'hi' }))).toBe('Echo: hi');
  });

  it('answer bad arguments by the names of the fields, and images and structured content as they are', async () => {
    const client = await open(everything);
    const bad = await call(client, 'get-sum', { a: 'x' });
    expect(bad.isError).toBe(true);
    expect(textOf(bad)).toBe('Invalid arguments of get-sum: b: is required; a: must be number, got "x"');
    const picture = await call(client, 'get-tiny-image');
    expect((picture.content as { type: string }[]).map(({ type }) => type)).toContain('image');
    const weather = await call(client, 'get-structured-content', { location: 'Chicago' });
    expect(weather.structuredContent).toMatchObject({ humidity: expect.any(Number) });
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'get-structured-content')?.outputSchema).toBeDefined();
    const reference = await call(client, 'get-resource-reference', { resourceType: 'Text', resourceId: 1 });
    expect((reference.content as { type: string }[]).map(({ type }) => type)).toContain('resource');
  });

  it('work on real files, and its own refusals are results', async () => {
    const folder = await temporaryFolder();
    const client = await open(filesystem(folder), { prefix: 'fs' });
    await call(client, 'fs_write_file', { path: join(folder, 'a.txt'), content: 'hello' });
    expect(await readFile(join(folder, 'a.txt'), 'utf8')).toBe('hello');
    const outside = await call(client, 'fs_read_text_file', { path: '/etc/hostname' });
    expect(outside.isError).toBe(true);
    expect(textOf(outside)).toContain('Access denied');
  });

  it('report progress to the call that asked for it, shares of one as percent', async () => {
    const client = await open(everything);
    const seen: unknown[] = [];
    const params = { name: 'trigger-long-running-operation', arguments: { duration: 0.02, steps: 2 } };
    await client.callTool(params, { onprogress: ({ progress, total }) => seen.push([progress, total]) });
    expect(seen).toEqual([
      [1, 2],
      [2, 2],
    ]);
    const shares = await open(odd('plain'));
    const percent: unknown[] = [];
    await shares.callTool(
      { name: 'fraction' },
      { onprogress: ({ progress, total }) => percent.push([progress, total]) },
    );
    expect(percent).toEqual([
      [25, 100],
      [50, 100],
      [100, 100],
    ]);
  });

  it('log to the client of the call', async () => {
    const client = await open(odd('plain'));
    const logs: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => {
      logs.push([params.level, params.data]);
    });
    await call(client, 'log');
    await until(() => logs.length > 0);
    expect(logs).toEqual([['info', '{"told":true}']]);
  });

  it('are held to the patterns of a scenario by their names in the environment', async () => {
    const source = () => {
      const env = environment(everything, { prefix: 'ev' })();
      env.scenario('sum', { tools: ['ev_get-*'] }, async function* () {
        yield 'Add.';
        return 1;
      });
      return env;
    };
    const client = await connectInMemory(source, { meta: HARNESS });
    await call(client, 'setup', { name: 'sum' });
    const { tools } = await client.listTools(AS_AGENT as never);
    expect(tools.map(({ name }) => name)).toContain('ev_get-sum');
    expect(tools.map(({ name }) => name)).not.toContain('ev_echo');
    expect((await errorOf(call(client, 'ev_echo', { message: 'x' }, AS_AGENT))).code).toBe(-32602);
  });
});

describe('what else a connected server has', () => {
  it('resources, templates, prompts and completions pass through', async () => {
    const client = await open(everything, { prefix: 'ev' });
    const uri = 'demo://resource/static/document/features.md';
    expect((await client.listResources()).resources.map((resource) => resource.uri)).toContain(uri);
    const [document] = (await client.readResource({ uri })).contents;
    expect(document).toMatchObject({ uri, text: expect.stringContaining('Everything') });
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(
      'demo://resource/dynamic/text/{resourceId}',
    );
    const [dynamic] = (await client.readResource({ uri: 'demo://resource/dynamic/text/7' })).contents;
    expect(dynamic).toMatchObject({ text: expect.stringContaining('7') });
    const prompt = await client.getPrompt({ name: 'ev_args-prompt', arguments: { city: 'Ulm' } });
    expect(JSON.stringify(prompt.messages)).toContain('Ulm');
    const ref = { type: 'ref/prompt', name: 'ev_completable-prompt' } as const;
    const { completion } = await client.complete({ ref, argument: { name: 'department', value: 'E' } });
    expect(completion.values).toEqual(['Engineering']);
    expect((await errorOf(client.readResource({ uri: 'demo://nothing' }))).code).toBe(-32602);
  });

  it.each(['legacy', 'modern'] as const)('asks the client of the call to elicit and to sample (%s)', async (mode) => {
    const client = await open(everything, {}, { mode, capabilities: { elicitation: {}, sampling: {} } });
    client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: 'Ada' } }));
    client.setRequestHandler('sampling/createMessage', async () => ({
      role: 'assistant',
      content: { type: 'text', text: 'sampled' },
      model: 'm',
    }));
    expect(textOf(await call(client, 'trigger-elicitation-request'))).toContain('Ada');
    expect(textOf(await call(client, 'trigger-sampling-request', { prompt: 'x' }))).toContain('sampled');
  });

  it('is not told of what the client of the session does not offer', async () => {
    expect(await toolNames(await open(everything))).not.toContain('trigger-elicitation-request');
  });

  it('updates of a resource reach a client that subscribed to it', async () => {
    const client = await open(odd('plain'));
    const updated: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      updated.push(params.uri);
    });
    await client.subscribeResource({ uri: 'odd://thing' });
    await call(client, 'touch');
    await until(() => updated.length > 0);
    expect(updated).toEqual(['odd://thing']);
  });

  it('changed lists are followed and passed on, and a name that is taken is left out', async () => {
    const reports: string[] = [];
    const client = await open(odd('plain'), {}, { report: (text) => reports.push(text) });
    const changed = new Promise<void>((resolve) => {
      client.setNotificationHandler('notifications/tools/list_changed', () => resolve());
    });
    await call(client, 'grow');
    await changed;
    expect(await toolNames(client)).toContain('grown');
    expect(textOf(await call(client, 'own'))).toBe('mine');
    expect(reports.filter((text) => text.includes('"own"'))).toEqual([
      expect.stringContaining('the tool "own", a name that is taken in this environment'),
    ]);
  });
});

describe('a connected server in this process, or at an address', () => {
  it.each([
    ['v1', () => addTo(new McpServerV1({ name: 'inner', version: '1' }) as unknown as McpServer)],
    ['v2', () => addTo(new McpServer({ name: 'inner', version: '1' }))],
  ])('may be a server of the SDK %s', async (_line, make) => {
    const client = await open({ server: make });
    expect(textOf(await call(client, 'double', { of: 21 }))).toBe('42');
    const again = await open({ server: make() }, { prefix: 'in' });
    expect(textOf(await call(again, 'in_double', { of: 4 }))).toBe('8');
  });

  it('may be an environment, of which an agent is all that it sees', async () => {
    const inner = () => {
      const env = new EnvironmentServer({ name: 'inner' });
      let count = 0;
      env.tool('count', {}, () => {
        count += 1;
        return count;
      });
      env.mount(new Hub('vault', { audience: 'harness' }).tool('open', {}, () => 'gold'));
      env.scenario('s', {}, async function* () {
        yield 'Go.';
        return 1;
      });
      return env;
    };
    const source = environment({ server: inner }, { prefix: 'in' });
    const [one, two] = [await connectInMemory(source, { meta: HARNESS }), await connectInMemory(source)];
    expect(await toolNames(one)).toEqual(['own', 'in_count']);
    await call(one, 'in_count');
    expect(textOf(await call(one, 'in_count'))).toBe('2');
    expect(textOf(await call(two, 'in_count'))).toBe('1');
    const { contents } = await one.readResource({ uri: 'svc://scenarios' });
    expect(JSON.parse((contents[0] as { text: string }).text)).toEqual({ scenarios: [] });
  });

  it('may be at an address of Streamable HTTP, or of the older HTTP+SSE', async () => {
    for (const [transport, path] of [
      ['streamableHttp', 'mcp'],
      ['sse', 'sse'],
    ] as const) {
      const port = await startEverything(transport);
      const client = await open({ url: `http://127.0.0.1:${port}/${path}`, headers: { 'x-mine': '1' } });
      expect(textOf(await call(client, 'echo', { message: transport }))).toBe(`Echo: ${transport}`);
      const seen: number[] = [];
      const params = { name: 'trigger-long-running-operation', arguments: { duration: 0.02, steps: 2 } };
      await client.callTool(params, { onprogress: ({ progress }) => seen.push(progress) });
      expect(seen).toEqual([1, 2]);
    }
  });
});

describe('a connected server that fails', () => {
  it.each(['legacy', 'modern'] as const)(
    'at start fails the initialization, and its last words are for the log (%s)',
    async (mode) => {
      const reports: string[] = [];
      const opening = open(odd('dies'), {}, { mode, report: (text) => reports.push(text) });
      const { message } = await errorOf(mode === 'legacy' ? opening : opening.then(toolNames));
      expect(message).toContain('The environment could not be initialized. Its log says why');
      expect(message).not.toContain('database');
      expect(reports.join('\n')).toContain(
        'The connected server other could not be started: it exited with code 3. Its last lines on standard error:\nno such database',
      );
    },
  );

  it('because there is no such program, or no such address, says so in the log', async () => {
    const reports: string[] = [];
    const report = (text: string) => reports.push(text);
    await errorOf(open({ command: 'no-such-program' }, {}, { report }));
    expect(reports.join('\n')).toContain(
      'The connected server other could not be started: it could not be started (spawn',
    );
    const free = await freePort();
    await errorOf(open({ url: `http://127.0.0.1:${free}/mcp` }, {}, { report }));
    expect(reports.join('\n')).toMatch(/could not be started: it failed: .*ECONNREFUSED/);
    await errorOf(open({ server: {} }, {}, { report }));
    expect(reports.join('\n')).toContain('neither an environment nor an MCP server');
  });

  it('because of its names, says which and what to do', async () => {
    const reports: string[] = [];
    const report = (text: string) => reports.push(text);
    await errorOf(open(odd('bad-name'), { prefix: 'odd' }, { report }));
    expect(reports.join('\n')).toContain('its tool "read.file", here "odd_read.file", which has to match');
    await errorOf(open(odd('reserved'), {}, { report }));
    expect(reports.join('\n')).toContain(
      'the tool "setup", a name that is taken in this environment: give it a prefix',
    );
    await errorOf(open(odd('endless'), {}, { report }));
    expect(reports.join('\n')).toContain('gives more than 100 pages of tools');
    const twice = () => environment(everything)().connect('again', everything, { prefix: 'again' });
    await errorOf(connectInMemory(twice, { report }));
    expect(reports.join('\n')).toContain(
      'The connected server again has the resource "demo://resource/static/document/architecture.md", a name that is taken',
    );
    const own = () => environment(everything)().tool('echo', {}, () => '');
    await errorOf(connectInMemory(own, { report }));
    expect(reports.join('\n')).toContain('The connected server other has the tool "echo", a name that is taken');
  });

  it('by a kill in the middle of a call makes that a tool error, and is started again by the next', async () => {
    const reports: string[] = [];
    const client = await open(odd('plain'), {}, { report: (text) => reports.push(text) });
    const { pid } = await received(client);
    const hanging = call(client, 'hang');
    process.kill(pid, 'SIGKILL');
    const lost = await hanging;
    expect(lost.isError).toBe(true);
    expect(textOf(lost)).toBe(
      'The connected server other was ended by the signal SIGKILL before it had answered. It is started again at the next call; what it held in memory is lost',
    );
    expect(textOf(await call(client, 'own'))).toBe('mine');
    const next = await received(client);
    expect(next.pid).not.toBe(pid);
    process.kill(next.pid, 'SIGKILL');
    await until(() => reports.filter((text) => text.includes('SIGKILL')).length === 2);
    const between = await call(client, 'received');
    expect(between.isError).toBe(true);
    expect(textOf(between)).toBe(
      'The connected server other was ended by the signal SIGKILL. It is started again at the next call; what it held in memory is lost',
    );
    expect((await received(client)).pid).not.toBe(next.pid);
    const exited = await call(client, 'exit');
    expect(textOf(exited)).toContain('exited with code 7');
    expect(textOf(exited)).not.toContain('disk');
    expect(reports.join('\n')).toContain('exited with code 7. Its last lines on standard error:\nthe disk is full');
  });

  it('again and again is not started more than five times a minute', async () => {
    const client = await open(odd('plain'));
    for (let crash = 0; crash < 6; crash += 1)
      expect(textOf(await call(client, 'exit'))).toContain('exited with code 7');
    const refused = await call(client, 'received');
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toMatch(/has been started again 5 times within a minute\. The next time is in \d+ s/);
    expect(textOf(await call(client, 'own'))).toBe('mine');
  });

  it('at its address is a tool error, and is connected to again by the next call', async () => {
    const port = await startEverything('streamableHttp');
    const client = await open({ url: `http://127.0.0.1:${port}/mcp` });
    const params = { name: 'trigger-long-running-operation', arguments: { duration: 1_000, steps: 100_000 } };
    let lost: unknown;
    await new Promise<void>((resolve) => {
      lost = client.callTool(params, { onprogress: () => resolve() });
    });
    await stopEverything(port);
    const result = (await lost) as { readonly content: unknown; readonly isError?: boolean };
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('The connected server other could not be reached any more before it had answered');
    expect(textOf(await call(client, 'echo', { message: 'x' }))).toContain('could not be connected to again');
    await startEverything('streamableHttp', port);
    expect(textOf(await call(client, 'echo', { message: 'back' }))).toBe('Echo: back');
  });

  it('to keep to the protocol breaks nothing', async () => {
    const client = await open(odd('pages'));
    expect(textOf(await call(client, 'garbage'))).toBe('still here');
    expect(textOf(await call(client, 'deep'))).toContain('gave an answer that is nested more than 200 deep');
    expect(textOf(await call(client, 'odd_schema', { a: 1 }))).toBe('odd_schema was called');
    expect(textOf(await call(client, 'async_schema'))).toBe('async_schema was called');
    expect(textOf(await call(client, 'own'))).toBe('mine');
  });

  it('to answer is given up with its call', async () => {
    const client = await open(odd('plain'));
    const aborter = new AbortController();
    const hanging = client.callTool({ name: 'hang' }, { signal: aborter.signal });
    aborter.abort(new Error('enough'));
    await expect(hanging).rejects.toThrow('enough');
    expect(textOf(await call(client, 'own'))).toBe('mine');
  });
});

describe('a connected server is somebody else', () => {
  it('nothing of the harness reaches it, and it cannot speak for Proctor', async () => {
    process.env.PROCTOR_HARNESS_KEY_TEST = 'x';
    process.env.SOME_API_KEY = 'x';
    onTestFinished(() => {
      delete process.env.PROCTOR_HARNESS_KEY_TEST;
      delete process.env.SOME_API_KEY;
    });
    const target = { ...odd('plain'), env: { GIVEN: '1' } };
    const client = await open(target, {}, { meta: { ...HARNESS, 'svc/harness_key': 'k' }, harnessKey: 'k' });
    const meta = { _meta: { 'svc/audience': 'agent', 'svc/harness_key': 'k', 'acme/own': 1 } };
    const seen = await received(client, meta);
    expect(seen.meta).toEqual({ 'acme/own': 1 });
    expect(seen.variables).toContain('GIVEN');
    expect(seen.variables).not.toContain('SOME_API_KEY');
    expect(seen.variables.filter((name) => name.startsWith('PROCTOR_'))).toEqual([]);
    const result = await call(client, 'received');
    expect(result._meta).toEqual({ mine: 1 });
    const { tools } = await client.listTools();
    expect(tools.find(({ name }) => name === 'received')?._meta).toEqual({ mine: true });
    expect((await client.listResources()).resources.filter(({ uri }) => uri === 'svc://scenarios')).toHaveLength(1);
    const { contents } = await client.readResource({ uri: 'svc://scenarios' });
    expect(JSON.stringify(contents)).not.toContain('a thing');
  });

  it.each(['legacy', 'modern'] as const)(
    'for the harness alone, it is hidden from agents like what does not exist (%s)',
    async (mode) => {
      const source = environment(everything, { prefix: 'ev', audience: 'harness' });
      const agent = await connectInMemory(source, { mode });
      expect(await toolNames(agent)).toEqual(['own']);
      expect((await agent.listResources()).resources.map(({ uri }) => uri)).toEqual(['svc://scenarios']);
      expect((await agent.listResourceTemplates()).resourceTemplates).toEqual([]);
      expect((await agent.listPrompts()).prompts).toEqual([]);
      const hidden = await errorOf(call(agent, 'ev_echo', { message: 'x' }));
      const unknown = await errorOf(call(agent, 'ev_nothing', { message: 'x' }));
      expect(hidden).toEqual({ ...unknown, message: unknown.message.replace('ev_nothing', 'ev_echo') });
      const uri = 'demo://resource/static/document/features.md';
      expect((await errorOf(agent.readResource({ uri }))).message).toContain(`Unknown resource: ${uri}`);
      const harness = await connectInMemory(source, { mode, meta: HARNESS });
      expect(textOf(await call(harness, 'ev_echo', { message: 'x' }))).toBe('Echo: x');
    },
  );
});

describe('the connection', () => {
  it('is each session’s own, and ends with it', async () => {
    const source = environment(odd('plain'));
    const [one, two] = [await connectInMemory(source), await connectInMemory(source)];
    const pids = [(await received(one)).pid, (await received(two)).pid];
    expect(new Set(pids).size).toBe(2);
    await one.close();
    await until(() => !isAlive(pids[0] as number));
    expect(isAlive(pids[1] as number)).toBe(true);
  });

  it('is each session’s own with a shared instance too', async () => {
    const shared = environment(odd('plain'))();
    const [one, two] = [await connectInMemory(shared), await connectInMemory(shared)];
    expect((await received(one)).pid).not.toBe((await received(two)).pid);
  });

  it('is opened before the initialize hooks, and not by making the environment or by discovery', async () => {
    const order: string[] = [];
    const make = () => {
      order.push('connected');
      return addTo(new McpServer({ name: 'inner', version: '1' }));
    };
    const source = () =>
      environment({ server: make })().initialize(() => {
        order.push('hook');
      });
    const client = await connectInMemory(source, { mode: 'modern' });
    expect(order).toEqual([]);
    await toolNames(client);
    await toolNames(client);
    expect(order).toEqual(['connected']);
    await call(client, 'own');
    expect(order).toEqual(['connected', 'hook']);
  });

  it('asks a function for its target once in a session, and tells the close hooks of a session that only listed', async () => {
    const events: string[] = [];
    const source = () =>
      new EnvironmentServer({ name: 'composed' })
        .connect('other', async () => {
          events.push('target');
          return odd('plain');
        })
        .close(() => void events.push('close'));
    const client = await connectInMemory(source, { mode: 'modern' });
    await toolNames(client);
    await call(client, 'exit');
    await received(client);
    expect(events).toEqual(['target']);
    const listing = await connectInMemory(source, { mode: 'modern' });
    await toolNames(listing);
    await listing.close();
    await until(() => events.includes('close'));
    expect(events).toEqual(['target', 'target', 'close']);
    const reports: string[] = [];
    const broken = () => new EnvironmentServer({ name: 'composed' }).connect('other', () => ({ command: '' }));
    await errorOf(connectInMemory(broken, { report: (text) => reports.push(text) }));
    expect(reports.join('\n')).toContain('its target failed: Connection "other": command has to be');
  });

  it('leaves no process behind when one of several fails, or hangs while it starts', async () => {
    const folder = await temporaryFolder();
    const pidFile = join(folder, 'pid');
    const noting = `require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`;
    const source = () =>
      environment(odd('plain'))().connect('hanging', { command: process.execPath, args: ['-e', noting] });
    const [clientTransport, serverTransport] = InMemoryTransport.createLinkedPair();
    const { serveConnection } = await import('../../src/mcp/serve-connection.ts');
    const { EnvironmentHost } = await import('../../src/mcp/environment-host.ts');
    const authority = { harnessKey: undefined, isPeerTrusted: true };
    const host = new EnvironmentHost(source, { authority, report: () => {} });
    serveConnection(host, serverTransport);
    await clientTransport.start();
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
    await clientTransport.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
    await until(() => pidOf(pidFile) !== undefined);
    await host.close(5_000);
    expect(isAlive(pidOf(pidFile) as number)).toBe(false);
  });

  it.each([
    [{}, 'one of the three; got an object with the keys []'],
    [{ command: 'a', url: 'http://x' }, 'one of the three'],
    [{ command: '' }, 'command has to be'],
    [{ command: 'a', args: [1] }, 'args has to be'],
    [{ url: 'ftp://user:secret@x' }, 'has to be an address that starts with http'],
    [{ server: 'x' }, 'server has to be'],
  ])('is refused at registration for what is none: %j', (target, message) => {
    expect(() => environment(target as never)()).toThrow(message);
    expect(() => environment(target as never)()).not.toThrow('secret');
  });

  it('is refused at registration for a bad name, prefix, audience or pattern, and for a name that is taken', () => {
    const env = environment(everything)();
    expect(() => env.connect('other', everything)).toThrow('already has a connection named "other"');
    expect(() => env.connect('a b', everything)).toThrow('Connection name "a b"');
    expect(() => env.connect('a', everything, { prefix: 'a.b' })).toThrow('prefix');
    expect(() => env.connect('a', everything, { audience: 'all' as never })).toThrow('audience');
    expect(() => env.connect('a', everything, { include: 'x' as never })).toThrow('include has to be a list');
  });
});

function addTo(server: McpServer): McpServer {
  server.registerTool('double', { inputSchema: z.object({ of: z.number() }) }, ({ of }) => ({
    content: [{ type: 'text', text: String(of * 2) }],
  }));
  return server;
}

const servers = new Map<number, ReturnType<typeof spawn>>();

/** Starts the third-party server over HTTP, as its own documentation has it. */
async function startEverything(transport: 'streamableHttp' | 'sse', port?: number): Promise<number> {
  const at = port ?? (await freePort());
  const child = spawn(process.execPath, [EVERYTHING, transport], {
    env: { ...process.env, PORT: String(at) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  servers.set(at, child);
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await until(() => said.includes(String(at)));
  return at;
}

async function stopEverything(port: number): Promise<void> {
  const child = servers.get(port);
  if (child === undefined) return;
  const gone = once(child, 'close');
  child.kill('SIGKILL');
  await gone;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}
