import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { McpServer as McpServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';
import { EnvironmentServer, Hub } from 'proctor';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PROCESS_VARIABLES } from '../../../src/contract/names.ts';
import { until } from '../../until.ts';
import { everything, filesystem, odd } from '../composition/servers.ts';
import { AS_AGENT, connectInMemory, errorOf, HARNESS, textOf } from './clients.ts';
import { addTo, call, environment, open, received, startEverything, temporaryFolder, toolNames } from './composed.ts';

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
    // By its mark, which is no secret, what a run has started is found when the run is over.
    expect(seen.variables.filter((name) => name.startsWith('PROCTOR_'))).toEqual([PROCESS_VARIABLES.run]);
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
