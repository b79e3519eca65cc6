import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import {
  AS_AGENT,
  connect,
  connectInMemory,
  errorOf,
  HARNESS,
  httpTransport,
  openMemory,
  serveHttp,
  textOf,
} from './clients.ts';
import { createExam } from './exam.ts';

const KEY = 'k'.repeat(32);
const AGENT_TOOLS = [
  'increment',
  'crash',
  'refuse',
  'picture',
  'echo',
  'meta',
  'log',
  'steps',
  'flood',
  'pause',
  'wait',
  'ask',
  'sample',
];
const HARNESS_TOOLS = ['vault', 'setup', 'evaluate', 'solution'];
const names = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name);

describe.each(['legacy', 'modern'] as const)('audience on the %s era', (mode) => {
  it('lists for an agent nothing of the harness', async () => {
    const client = await connectInMemory(createExam(), { mode });
    expect(names((await client.listTools()).tools)).toEqual([...AGENT_TOOLS, 'notes']);
    expect(names((await client.listPrompts()).prompts)).not.toContain('grading');
    const uris = (await client.listResources()).resources.map(({ uri }) => uri);
    expect(uris).toEqual(['exam://rules', 'exam://bytes', 'exam://broken', 'svc://scenarios', 'notes://functions']);
  });

  it('lists everything for a harness', async () => {
    const client = await connectInMemory(createExam(), { mode, meta: HARNESS });
    const listed = names((await client.listTools()).tools);
    expect(listed.sort()).toEqual([...AGENT_TOOLS, 'notes', ...HARNESS_TOOLS].sort());
    expect(names((await client.listPrompts()).prompts)).toContain('grading');
    const uris = (await client.listResources()).resources.map(({ uri }) => uri);
    expect(uris).toEqual(expect.arrayContaining(['exam://key', 'setup://functions', 'vault://functions']));
  });

  it('answers what is hidden exactly as what is unknown', async () => {
    const client = await connectInMemory(createExam(), { mode });
    for (const name of [...HARNESS_TOOLS, 'nope', '__proto__', 'toString']) {
      expect(await errorOf(client.callTool({ name, arguments: { name: 'count_to' } }))).toEqual({
        code: -32602,
        message: `Unknown tool: ${name}`,
      });
    }
    for (const uri of ['exam://key', 'setup://functions', 'exam://nope', '__proto__']) {
      expect(await errorOf(client.readResource({ uri }))).toEqual({
        code: -32602,
        message: `Unknown resource: ${uri}`,
      });
    }
    for (const name of ['grading', 'nope', 'constructor']) {
      const unknown = { code: -32602, message: `Unknown prompt: ${name}` };
      expect(await errorOf(client.getPrompt({ name }))).toEqual(unknown);
      const ref = { type: 'ref/prompt', name } as const;
      expect(await errorOf(client.complete({ ref, argument: { name: 'a', value: '' } }))).toEqual(unknown);
    }
    for (const uri of ['exam://key', 'setup://functions', 'exam://nope', '__proto__']) {
      const unknown = { code: -32602, message: `Unknown resource: ${uri}` };
      const ref = { type: 'ref/resource', uri } as const;
      expect(await errorOf(client.complete({ ref, argument: { name: 'id', value: '' } }))).toEqual(unknown);
      if (mode === 'modern') continue;
      expect(await errorOf(client.subscribeResource({ uri }))).toEqual(unknown);
      expect(await errorOf(client.unsubscribeResource({ uri }))).toEqual(unknown);
    }
  });

  it('treats a single request that a harness marks as an agent’s as one', async () => {
    const client = await connectInMemory(createExam(), { mode, meta: HARNESS });
    expect(names((await client.listTools(AS_AGENT)).tools)).toEqual([...AGENT_TOOLS, 'notes']);
    const hidden = await errorOf(client.callTool({ name: 'setup', arguments: { name: 'count_to' }, ...AS_AGENT }));
    expect(hidden).toEqual({ code: -32602, message: 'Unknown tool: setup' });
    expect((await errorOf(client.readResource({ uri: 'exam://key', ...AS_AGENT }))).code).toBe(-32602);
    expect((await errorOf(client.getPrompt({ name: 'grading', ...AS_AGENT }))).code).toBe(-32602);
    expect((await client.readResource({ uri: 'exam://key' })).contents[0]).toMatchObject({ text: 'the answers' });
  });

  it('takes a peer with a wrong key, or without one, for an agent where there is a key', async () => {
    for (const meta of [HARNESS, { ...HARNESS, 'svc/harness_key': 'wrong' }, { ...HARNESS, 'svc/harness_key': 7 }]) {
      const client = await connectInMemory(createExam(), { mode, meta, harnessKey: KEY });
      expect(names((await client.listTools()).tools)).not.toContain('setup');
    }
    const client = await connectInMemory(createExam(), {
      mode,
      meta: { ...HARNESS, 'svc/harness_key': KEY },
      harnessKey: KEY,
    });
    expect(names((await client.listTools()).tools)).toContain('setup');
  });

  it('takes the key alone, without the declaration, for nothing', async () => {
    const client = await connectInMemory(createExam(), { mode, meta: { 'svc/harness_key': KEY }, harnessKey: KEY });
    expect(names((await client.listTools()).tools)).not.toContain('setup');
  });

  it('shows the key to no code of an author', async () => {
    const events: string[] = [];
    const meta = { ...HARNESS, 'svc/harness_key': KEY, display_width: 800 };
    const client = await connectInMemory(createExam(events), { mode, meta, harnessKey: KEY });
    const call = await client.callTool({ name: 'meta', _meta: { 'svc/harness_key': KEY, other: 1 } });
    expect(JSON.stringify(call)).not.toContain(KEY);
    expect(call.structuredContent).toMatchObject({ meta: { other: 1 } });
    expect(events.filter((event) => event.startsWith('leaked'))).toEqual([]);
  });

  it('shows the key to no log, which quotes messages that nobody waits for', async () => {
    const reports: string[] = [];
    const transport = openMemory(createExam(), { report: (text) => reports.push(text), harnessKey: KEY });
    const client = await connect(transport, { mode, meta: { ...HARNESS, 'svc/harness_key': KEY } });
    await client.listTools();
    const _meta = { 'svc/harness_key': KEY };
    await transport.send({ jsonrpc: '2.0', id: 'nobody', result: { _meta } });
    await until(() => reports.length > 0);
    expect(reports.join()).toContain('nobody');
    expect(reports.join()).not.toContain(KEY);
  });

  it('makes nobody a harness over HTTP without a key', async () => {
    const url = await serveHttp(createExam());
    const client = await connect(httpTransport(url), { mode, meta: HARNESS });
    expect(names((await client.listTools()).tools)).not.toContain('setup');
    expect((await errorOf(client.callTool({ name: 'setup', arguments: { name: 'count_to' } }))).message).toBe(
      'Unknown tool: setup',
    );
  });

  it('makes whoever shows the key over HTTP a harness, and a bearer token nobody', async () => {
    const url = await serveHttp(createExam(), { harnessKey: KEY, bearerToken: 'token' });
    const bearer = () => httpTransport(url, { authorization: 'bearer token' });
    const harness = await connect(bearer(), { mode, meta: { ...HARNESS, 'svc/harness_key': KEY } });
    expect(names((await harness.listTools()).tools)).toContain('setup');
    const agent = await connect(bearer(), { mode, meta: { ...HARNESS, 'svc/harness_key': 'token' } });
    expect(names((await agent.listTools()).tools)).not.toContain('setup');
  });
});

describe('audience on a session-based connection', () => {
  it('does not let an agent’s single request declare itself a harness’s', async () => {
    const client = await connectInMemory(createExam(), { harnessKey: KEY });
    const forged = { _meta: { ...HARNESS, 'svc/harness_key': KEY } };
    expect(names((await client.listTools(forged)).tools)).not.toContain('setup');
    expect(await errorOf(client.callTool({ name: 'vault', arguments: { name: 'open' }, ...forged }))).toEqual({
      code: -32602,
      message: 'Unknown tool: vault',
    });
  });
});

describe('audience on 2026-07-28', () => {
  it('decides by each request alone', async () => {
    const client = await connectInMemory(createExam(), { mode: 'modern', harnessKey: KEY });
    const harness = { _meta: { ...HARNESS, 'svc/harness_key': KEY } };
    expect(names((await client.listTools(harness)).tools)).toContain('setup');
    expect(names((await client.listTools()).tools)).not.toContain('setup');
    const opened = await client.callTool({ name: 'vault', arguments: { name: 'open' }, ...harness });
    expect(textOf(opened)).toBe('gold');
    expect((await errorOf(client.callTool({ name: 'vault', arguments: { name: 'open' } }))).code).toBe(-32602);
  });
});
