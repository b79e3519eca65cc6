import { EnvironmentServer, image } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { until } from '../../until.ts';
import { connect, connectInMemory, errorOf, HARNESS, httpTransport, openMemory, serveHttp, textOf } from './clients.ts';
import { createExam } from './exam.ts';

describe.each(['legacy', 'modern'] as const)('a tool on the %s era', (mode) => {
  it('is called with arguments that its schema has read', async () => {
    const client = await connectInMemory(createExam(), { mode });
    await client.callTool({ name: 'increment' });
    const result = await client.callTool({ name: 'increment', arguments: { by: 2 } });
    expect(result.structuredContent).toEqual({ count: 3 });
    expect(textOf(result)).toBe('{"count":3}');
  });

  it('answers bad arguments with a result that names each bad field', async () => {
    const client = await connectInMemory(createExam(), { mode });
    const result = await client.callTool({ name: 'increment', arguments: { by: 'two', to: 1 } });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('by: ');
    expect(textOf(result)).toContain('to: is not an argument that exists');
  });

  it('that returns a list has structured content as the revision spells it, and an output schema to match', async () => {
    const environment = new EnvironmentServer({ name: 'lists' });
    const item = z.object({ type: z.literal('text'), text: z.string() });
    environment.tool('plain', {}, () => [1, 2]);
    environment.tool('empty', {}, () => []);
    environment.tool('declared', { returns: z.array(z.int()) }, () => [1, 2]);
    environment.tool('blocks', { returns: z.array(item) }, () => [{ type: 'text' as const, text: 'a' }]);
    const client = await connectInMemory(environment, { mode });
    const { tools } = await client.listTools();
    const spelled = (list: readonly unknown[]) => (mode === 'legacy' ? { result: list } : list);
    for (const [name, list] of [
      ['plain', [1, 2]],
      ['empty', []],
      ['declared', [1, 2]],
    ] as const) {
      const result = await client.callTool({ name });
      expect(result.structuredContent).toEqual(spelled(list));
      expect(textOf(result)).toBe(JSON.stringify(list));
    }
    const blocks = await client.callTool({ name: 'blocks' });
    expect(blocks).toMatchObject({ content: [{ type: 'text', text: 'a' }] });
    expect(blocks.structuredContent).toEqual(spelled([{ type: 'text', text: 'a' }]));
    const schema = { type: 'array', items: { type: 'integer' } };
    expect(tools.find(({ name }) => name === 'declared')?.outputSchema).toMatchObject(
      mode === 'legacy' ? { type: 'object', properties: { result: schema }, required: ['result'] } : schema,
    );
  });

  it('shows a ToolError as it is, and of any other throw only that it failed', async () => {
    const reports: string[] = [];
    const client = await connectInMemory(createExam(), { mode, report: (text) => reports.push(text) });
    expect(await client.callTool({ name: 'refuse' })).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'Not on Sundays' }],
    });
    const crashed = await client.callTool({ name: 'crash' });
    expect(crashed).toMatchObject({ isError: true, content: [{ type: 'text', text: 'The tool crash failed' }] });
    expect(reports.join()).toContain('secret cause');
  });

  it.each([
    [
      'an image that is not base64',
      () => image('%%%', 'image/png'),
      'a content block that MCP refuses: {"type":"image"',
    ],
    ['a block with a broken field', () => [{ type: 'text', text: 'a', annotations: 5 }], 'a content block that MCP'],
    [
      'JSON of a thousand levels',
      () => JSON.parse(`${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}`),
      'more than 200 deep',
    ],
    ['an error that it did not throw', () => new Error('lost'), 'cannot return a Error'],
  ])('that returns %s has failed, and the log says why', async (_what, returned, cause) => {
    const reports: string[] = [];
    const environment = new EnvironmentServer({ name: 'odd' }).tool('make', {}, returned);
    const client = await connectInMemory(environment, { mode, report: (text) => reports.push(text) });
    const result = await client.callTool({ name: 'make' });
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'The tool make failed' }] });
    expect(reports.join()).toContain(cause);
  });

  it('reports progress in integers that increase, and never after the reply', async () => {
    const transport = openMemory(createExam());
    const client = await connect(transport, { mode });
    // On 2026-07-28 the initialize hook runs in the first call, and reports to it.
    await client.callTool({ name: 'increment' });
    const seen: unknown[] = [];
    const wire: string[] = [];
    const receive = transport.onmessage;
    transport.onmessage = (message, extra) => {
      wire.push('method' in message ? message.method : 'reply');
      receive?.(message, extra);
    };
    await client.callTool({ name: 'steps' }, { onprogress: (progress) => seen.push(progress) });
    // The tool reports once more, 5 ms after it has returned.
    await client.callTool({ name: 'pause' });
    expect(wire).toEqual([...Array(3).fill('notifications/progress'), 'reply', 'reply']);
    expect(seen).toEqual([
      { progress: 10, total: 100, message: 'at 10.7' },
      { progress: 50, total: 100, message: 'at 50' },
      { progress: 100, total: 200 },
    ]);
  });

  it('reports no progress to a client that gave no token', async () => {
    const transport = openMemory(createExam());
    const client = await connect(transport, { mode });
    const notified: unknown[] = [];
    const receive = transport.onmessage;
    transport.onmessage = (message, extra) => {
      if ('method' in message) notified.push(message.method);
      receive?.(message, extra);
    };
    await client.callTool({ name: 'steps' });
    expect(notified).toEqual([]);
  });

  it('sees an aborted signal when the client cancels', async () => {
    const events: string[] = [];
    const client = await connectInMemory(createExam(events), { mode });
    const aborter = new AbortController();
    const call = client.callTool({ name: 'wait' }, { signal: aborter.signal });
    const rejection = expect(call).rejects.toThrow();
    await until(() => events.includes('waiting'));
    aborter.abort(new Error('enough'));
    await rejection;
    await until(() => events.includes('aborted'));
  });

  it('takes arguments by the name of __proto__ for nothing but arguments', async () => {
    const client = await connectInMemory(createExam(), { mode });
    await client.callTool({ name: 'echo', arguments: JSON.parse('{"__proto__":{"polluted":true},"a":1}') });
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('gives its author the session and the request’s _meta', async () => {
    const client = await connectInMemory(createExam(), { mode });
    const { structuredContent } = await client.callTool({ name: 'meta', _meta: { seed: 3 } });
    expect(structuredContent).toMatchObject({
      meta: { seed: 3 },
      session: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        protocol: mode === 'modern' ? '2026-07-28' : '2025-11-25',
        client: { name: 'tester', version: '1' },
      },
    });
  });
});

describe('what author code says', () => {
  it('reaches the client as log messages', async () => {
    const client = await connectInMemory(createExam());
    const logs: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void logs.push(params));
    await client.callTool({ name: 'log' });
    expect(logs).toEqual([
      { level: 'info', data: 'told', logger: 'environment' },
      { level: 'warning', data: 'warned', logger: 'environment' },
    ]);
  });

  it('of a failure in full reaches a harness, marked as an agent or not, and never an agent', async () => {
    const logs: string[] = [];
    for (const meta of [HARNESS, {}]) {
      const client = await connectInMemory(createExam(), { meta });
      client.setNotificationHandler('notifications/message', ({ params }) => void logs.push(String(params.data)));
      await client.callTool({ name: 'crash', _meta: { 'svc/audience': 'agent' } });
    }
    expect(logs).toHaveLength(1);
    expect(logs[0]).toContain('secret cause');
  });
});

describe('what author code asks of the client', () => {
  it('is answered by a client with a handshake, in memory and over HTTP', async () => {
    for (const transport of [openMemory(createExam()), httpTransport(await serveHttp(createExam()))]) {
      const client = await connect(transport, { capabilities: { elicitation: {}, sampling: {} } });
      client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { ok: true } }));
      client.setRequestHandler('sampling/createMessage', () => ({
        role: 'assistant',
        content: { type: 'text', text: 'hi' },
        model: 'm',
      }));
      const asked = await client.callTool({ name: 'ask' });
      expect(asked.structuredContent).toEqual({ action: 'accept', content: { ok: true } });
      const sampled = await client.callTool({ name: 'sample' });
      expect(sampled.structuredContent).toMatchObject({ role: 'assistant', content: { text: 'hi' }, model: 'm' });
    }
  });

  it('fails clearly where the client cannot', async () => {
    const reports: string[] = [];
    const client = await connectInMemory(createExam(), { report: (text) => reports.push(text) });
    expect((await client.callTool({ name: 'ask' })).isError).toBe(true);
    expect(reports.join()).toContain('does not offer elicitation');
    const modern = await connectInMemory(createExam(), { mode: 'modern' });
    expect(await errorOf(modern.callTool({ name: 'ask' }))).toMatchObject({ code: -32021 });
  });
});

describe('resources and prompts', () => {
  it('are read as text, bytes or JSON, and templates by their variables', async () => {
    const client = await connectInMemory(createExam());
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0];
    expect(await read('exam://rules')).toMatchObject({ mimeType: 'text/plain', text: 'No cheating.' });
    expect(await read('exam://bytes')).toMatchObject({ mimeType: 'application/octet-stream', blob: 'AQID' });
    expect(await read('exam://items/a%20b')).toMatchObject({ mimeType: 'application/json', text: '{"id":"a b"}' });
    expect((await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'exam://items/{id}',
    ]);
    expect((await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } })).messages).toEqual([
      { role: 'user', content: { type: 'text', text: 'Hello Ada' } },
    ]);
  });

  it('fail without their cause', async () => {
    const client = await connectInMemory(createExam());
    expect(await errorOf(client.readResource({ uri: 'exam://broken' }))).toEqual({
      code: -32603,
      message: 'The resource exam://broken failed',
    });
  });

  it('come whole: every cursor is one that was never given', async () => {
    const client = await connectInMemory(createExam());
    expect((await errorOf(client.request({ method: 'tools/list', params: { cursor: 'x' } }))).code).toBe(-32602);
  });

  it('announces name, version, instructions and passed-through options', async () => {
    const client = await connectInMemory(createExam());
    expect(client.getServerVersion()).toMatchObject({ name: 'exam', version: '1.2.3', title: 'The exam' });
    expect(client.getInstructions()).toBe('Count.');
  });
});

describe('what crosses in memory', () => {
  it('is copied, so that neither side holds the other’s objects', async () => {
    const env = () =>
      new EnvironmentServer({ name: 'e' }).tool('take', { args: z.looseObject({}) }, (args) => {
        (args.deep as { value: number }).value = 2;
      });
    const client = await connectInMemory(env);
    const args = { deep: { value: 1 } };
    await client.callTool({ name: 'take', arguments: args });
    expect(args).toEqual({ deep: { value: 1 } });
  });
});
