import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { isRunning, processesNamed } from '../client/processes.ts';
import { errorOf, HARNESS, httpTransport, textOf } from '../server/clients.ts';
import { EventSource } from '../server/event-source.ts';
import { modern, openSession, rpc, send } from '../server/raw-http.ts';
import { connectTo, KEY, startDev } from './dev-server.ts';
import { createLab, SOURCE } from './project.ts';

const PATIENCE = { timeout: 60_000 } as const;
const WITH_KEY = { ...HARNESS, 'svc/harness_key': KEY };

describe('a reload', PATIENCE, () => {
  it.each(['legacy', 'modern'] as const)(
    'replaces what serves a %s client, which stays connected and is told',
    async (mode) => {
      const lab = createLab();
      const server = await startDev(lab);
      const { client, changed } = await connectTo(server, { mode });
      if (mode === 'modern')
        await client.listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true });
      expect(textOf(await client.callTool({ name: 'version' }))).toBe('v1');
      lab.change("'v1'", "'v2'");
      await until(() => changed.length === 3);
      expect(changed).toEqual(expect.arrayContaining(['tools', 'prompts', 'resources']));
      expect(textOf(await client.callTool({ name: 'version' }))).toBe('v2');
      lab.replace("'v1'", "'v3'");
      await until(() => changed.length === 6);
      expect(textOf(await client.callTool({ name: 'version' }))).toBe('v3');
      expect(server.said.join('\n')).not.toContain('shutdown hook');
    },
  );

  it.each(['legacy', 'modern'] as const)('lets a %s client hear of changes that are not its doing', async (mode) => {
    const server = await startDev(createLab());
    const { client, changed } = await connectTo(server, { mode });
    if (mode === 'modern') await client.listen({ toolsListChanged: true });
    await client.callTool({ name: 'grow' });
    await until(() => changed.length > 0);
    expect(changed[0]).toBe('tools');
    expect(textOf(await client.callTool({ name: 'grown' }))).toBe('new');
  });

  it('lets streams of 2026-07-28 hear of resources that have changed, and the harness’s of what is its own', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const { client } = await connectTo(server, { mode: 'modern' });
    const notifications = { toolsListChanged: true, resourceSubscriptions: ['lab://note'] };
    const listen = (meta: object) => {
      const { headers = {}, body } = modern('subscriptions/listen', { notifications }, meta);
      return EventSource.open(server.url, headers as Record<string, string>, String(body));
    };
    const agent = await listen({});
    const harness = await listen(WITH_KEY);
    for (const version of ['v2', 'v3']) {
      const reloads = server.said.filter((line) => line.includes('Reloaded in')).length;
      lab.change("'v1'", `'${version}'`);
      await server.says('Reloaded in', reloads + 1);
    }
    await Promise.all([agent.has(3), harness.has(3)]);
    await client.listTools();
    await client.callTool({ name: 'hide' });
    await harness.has(4);
    await client.callTool({ name: 'touch' });
    await Promise.all([agent.has(4), harness.has(5)]);
    const methods = ({ messages }: EventSource) =>
      messages.slice(3).map((message) => ('method' in message ? message.method : undefined));
    expect(methods(agent)).toEqual(['notifications/resources/updated']);
    expect(methods(harness)).toEqual(['notifications/tools/list_changed', 'notifications/resources/updated']);
  });

  it('of a storm of changes loads the last one, and ends what loads the others', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const { client } = await connectTo(server);
    // Each would take minutes to load.
    const slow = (at: number) =>
      lab.write('environment.ts', `console.error('loading ${at}');\nawait delay(300_000);\n${SOURCE}`);
    for (const at of [1, 2, 3]) {
      slow(at);
      await server.says(`loading ${at}`);
    }
    const loading = () => processesNamed(lab.path).length;
    await until(() => loading() <= 4);
    lab.change("'v1'", "'v2'");
    await server.says('Reloaded in');
    expect(textOf(await client.callTool({ name: 'version' }))).toBe('v2');
    await until(() => loading() <= 3);
    expect(server.said.join('\n')).not.toContain('while it was loaded');
  });

  it('keeps the session id, loses the fields, and says so', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const session = await openSession(server.url);
    const headers = { 'mcp-session-id': session };
    const count = async () => {
      const { text } = await send(server.url, { headers, body: rpc('tools/call', { name: 'count' }) });
      return textOf(JSON.parse(text).result);
    };
    expect([await count(), await count()]).toEqual(['1', '2']);
    lab.change("'v1'", "'v2'");
    await server.says('Reloaded in');
    expect(await count()).toBe('1');
    expect(server.said.join('\n')).toMatch(
      /environment\.ts\.\n.*A session lost what the fields of the old instance held/,
    );
  });

  it('runs the close hook of the old instance and the initialize hook of the new one, with the same _meta', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const meta = { display_width: 800, display_height: 600 };
    const { client } = await connectTo(server, { meta });
    lab.change("'v1'", "'v2'");
    await server.says('initialize hook 800x600', 2);
    await server.says('close hook');
    expect(textOf(await client.callTool({ name: 'display' }))).toBe('800x600');
    expect(server.said.join('\n')).not.toContain('shutdown hook');
  });

  it('runs the initialize hook with the _meta of the first request on 2026-07-28 too', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const display = (meta: object) => send(server.url, modern('tools/call', { name: 'display' }, meta));
    await display({ display_width: 800, display_height: 600 });
    lab.change("'v1'", "'v2'");
    await server.says('Reloaded in');
    expect(JSON.parse((await display({})).text).result.content[0].text).toBe('800x600');
  });

  it('loses an active scenario, never silently: developer and client are told, and an evaluation finds none', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const { client } = await connectTo(server, { meta: WITH_KEY });
    const logged: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params));
    await client.callTool({ name: 'setup', arguments: { name: 'exam' } });
    lab.change("'v1'", "'v2'");
    await server.says('A session lost its active scenario ("exam"): set it up again.');
    await until(() => logged.length > 0);
    const data = 'The environment was reloaded: the scenario "exam" is lost. Set it up again.';
    expect(logged).toEqual([{ level: 'warning', logger: 'proctor', data }]);
    const evaluation = { name: 'evaluate', arguments: { name: 'exam', arguments: { answer: 'x' } } };
    const refused = await client.callTool(evaluation);
    expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringMatching(/no scenario is active/i)]);
    await client.callTool({ name: 'setup', arguments: { name: 'exam' } });
    expect((await client.callTool(evaluation)).structuredContent).toMatchObject({ reward: 1 });
  });

  it('loses a scenario that a prompt has started, as loudly', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const { client } = await connectTo(server);
    await client.getPrompt({ name: 'exam' });
    await client.listTools();
    lab.change("'v1'", "'v2'");
    await server.says('A session lost its active scenario ("exam"): set it up again.');
  });

  it('keeps the handle of a session on 2026-07-28', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const setup = { name: 'setup', arguments: { name: 'exam' } };
    const first = JSON.parse((await send(server.url, modern('tools/call', setup, WITH_KEY))).text);
    const handle = { 'svc/session_id': first.result._meta['svc/session_id'] };
    expect(handle['svc/session_id']).toMatch(/^[\w-]{36}$/);
    lab.change("'v1'", "'v2'");
    await server.says('Reloaded in');
    const again = JSON.parse((await send(server.url, modern('tools/call', setup, { ...WITH_KEY, ...handle }))).text);
    expect(again.result).toMatchObject({ structuredContent: { scenario: 'exam' }, _meta: handle });
  });

  it('follows files that the module imports, and data beside it', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const { client, changed } = await connectTo(server);
    lab.write('label.ts', "export const LABEL = 'second';\n");
    await until(() => changed.length >= 3);
    expect(textOf(await client.callTool({ name: 'label' }))).toBe('second');
    // On a slow machine one write may be seen as two changes.
    const known = changed.length;
    lab.write('data.json', '{}');
    await until(() => changed.length >= known + 3);
    lab.write('environment.test.ts', '');
    lab.write('.notes', '');
    const before = changed.length;
    lab.write('data.json', '{"a":1}');
    await until(() => changed.length >= before + 3);
    expect(server.said.filter((line) => /test\.ts|notes/.test(line))).toEqual([]);
  });
});

describe('a process that ends by itself', PATIENCE, () => {
  it('is an error of what it ran, told to the developer, and started again by the next request', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const { client, changed } = await connectTo(server);
    expect((await errorOf(client.callTool({ name: 'crash' }))).message).toContain('ended while it ran this');
    await server.says('exited with code 3. The next request of its session starts it again');
    expect(textOf(await client.callTool({ name: 'version' }))).toBe('v1');
    expect(changed).toHaveLength(3);
  });
});

describe('the audience behind a relay', PATIENCE, () => {
  it.each([
    ['without a key', {}],
    ['that declares itself a harness without the key', HARNESS],
    ['with a wrong key', { ...HARNESS, 'svc/harness_key': 'wrong' }],
  ])('hides everything of the harness from a client %s, before and after a reload', async (_who, meta) => {
    const lab = createLab();
    const server = await startDev(lab);
    for (const mode of ['legacy', 'modern'] as const) {
      const { client } = await connectTo(server, { mode, meta });
      for (const version of ["'v2'", "'v3'"]) {
        expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('setup');
        const unknown = await errorOf(client.callTool({ name: 'nope' }));
        const hidden = await errorOf(client.callTool({ name: 'setup', arguments: { name: 'exam' } }));
        expect(hidden).toEqual({ ...unknown, message: unknown.message.replace('nope', 'setup') });
        const reloads = server.said.filter((line) => line.includes('Reloaded in')).length;
        lab.change("'v1'", `${version}+'${mode}'`);
        await server.says('Reloaded in', reloads + 1);
      }
    }
    expect(server.said.join('\n')).not.toContain(KEY);
  });
});

describe('the end of a dev server', PATIENCE, () => {
  it('runs close hooks, no shutdown hooks, and leaves no process', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const { client } = await connectTo(server);
    const pid = Number(textOf(await client.callTool({ name: 'pid' })));
    await server.stop();
    expect(isRunning(pid)).toBe(false);
    expect(server.said.join('\n')).toContain('close hook');
    expect(server.said.join('\n')).not.toContain('shutdown hook');
  });

  it('of a session is the end of its process', async () => {
    const lab = createLab();
    const server = await startDev(lab);
    const transport = httpTransport(server.url);
    const session = await openSession(server.url);
    const headers = { 'mcp-session-id': session };
    const { text } = await send(server.url, { headers, body: rpc('tools/call', { name: 'pid' }) });
    const pid = Number(textOf(JSON.parse(text).result));
    expect((await send(server.url, { method: 'DELETE', headers })).status).toBe(204);
    await until(() => !isRunning(pid));
    await server.says('close hook');
    await transport.close();
  });
});
