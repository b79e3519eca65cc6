import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { EnvironmentServer, Hub } from 'proctor';
import { openEnvironment } from 'proctor/testing';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import archive from '../../docs/examples/asking.ts';
import bank from '../../docs/examples/bank.ts';
import results from '../../docs/examples/results.ts';
import painter from '../../docs/examples/schemas.ts';
import shop from '../../docs/examples/shop.ts';
import { PATIENCE } from '../cli/command.ts';
import { Child } from '../environment/server/child.ts';
import { type ConnectOptions, connect, connectInMemory, httpTransport, textOf } from '../environment/server/clients.ts';
import { until } from '../until.ts';
import { ROOT, read } from './documents.ts';

describe('the bank', () => {
  it('moves money, and gives what its `returns` says as structured content', async () => {
    await using env = await openEnvironment(bank, { onLog: () => {} });
    const [transfer] = await env.agent.tools();
    expect(transfer?.input_schema).toMatchObject({ required: ['from', 'to', 'amount'], additionalProperties: false });
    expect(transfer?.output_schema).toMatchObject({ properties: { from: { type: 'integer' } } });
    const result = await env.agent.call('transfer', { from: 'ada', to: 'bob', amount: 30 });
    expect(result).toMatchObject({ is_error: false, structured_content: { from: 70, to: 50 } });
    expect((await env.agent.call('balance', { account: 'bob' })).text).toBe('50');
  });

  it('tells the agent what a ToolError says, and which argument is wrong', async () => {
    await using env = await openEnvironment(bank);
    const call = async (args: object) => {
      const { is_error, text } = await env.agent.call('transfer', { from: 'ada', to: 'bob', amount: 30, ...args });
      expect(is_error).toBe(true);
      return text;
    };
    expect(await call({ amount: 500 })).toBe('ada holds only 100.');
    expect(await call({ to: 'eve' })).toBe('There is no account "eve". There are: ada, bob');
    expect(await call({ amount: 'all' })).toContain('amount: expected number, got "all"');
    expect(await call({ currency: 'EUR' })).toContain('currency: is not an argument that exists');
  });

  it('reports progress, and writes to the log', async () => {
    const [logged, progress]: string[][] = [[], []];
    await using env = await openEnvironment(bank, { onLog: ({ message }) => logged?.push(message) });
    await env.agent.call(
      'transfer',
      { from: 'ada', to: 'bob', amount: 1 },
      { onProgress: ({ message }) => progress?.push(String(message)) },
    );
    expect([logged, progress]).toEqual([['1 from ada to bob'], ['The money is on its way.']]);
  });

  it('is one for each session', async () => {
    await using one = await openEnvironment(bank, { onLog: () => {} });
    await using other = await openEnvironment(bank);
    await one.agent.call('transfer', { from: 'ada', to: 'bob', amount: 100 });
    expect((await other.agent.call('balance', { account: 'ada' })).text).toBe('100');
  });
});

describe('schemas of every kind', () => {
  it('are listed, filled in and checked alike', async () => {
    await using env = await openEnvironment(painter);
    const tools = await env.agent.tools();
    expect(tools.map(({ name }) => name)).toEqual(['fields', 'zod', 'zod_3', 'arktype', 'valibot', 'json_schema']);
    for (const { name, input_schema } of tools) {
      expect(input_schema).toMatchObject({ type: 'object', required: ['to'] });
      expect(await env.agent.call(name, { to: 'door' })).toMatchObject({ is_error: false, text: 'The door is white.' });
      expect(await env.agent.call(name, { to: 7 })).toMatchObject({ is_error: true });
      expect((await env.agent.call(name, { to: 7 })).text).toContain('to: ');
    }
  });
});

describe('what is refused', () => {
  const handler = () => '';
  const desk = () => new EnvironmentServer({ name: 'desk' });
  const args = (schema: unknown) => () => desk().tool('book', { args: schema as { type: 'object' } }, handler);

  it.each([
    ['a date', args({ day: z.date() })],
    ['a schema of text', args(z.string())],
    ['a schema of Valibot that exposes no JSON Schema', args(v.object({ to: v.string() }))],
    ['a name with blanks', () => desk().tool('book a seat', {}, handler)],
    ['a name that is taken', () => desk().tool('book', {}, handler).tool('book', {}, handler)],
    ['no name', () => new EnvironmentServer({} as { name: string })],
    ['a hub that does not say whom it is for', () => new Hub('answers' as 'setup')],
  ])('%s, in the words that the page has', (_, make) => {
    const { message } = thrownBy(make);
    expect(read('docs/authoring.md')).toContain(`\`${message}\``);
  });
});

describe('what a tool returns', () => {
  it('reaches the agent in the form that the table says', async () => {
    await using env = await openEnvironment(results);
    const call = async (name: string) => env.agent.call(name);
    expect(await call('text')).toMatchObject({ text: 'Three apples.', structured_content: null });
    expect(await call('number')).toMatchObject({ text: '3', structured_content: null });
    expect(await call('object')).toMatchObject({
      text: '{"apples":3,"pears":0}',
      structured_content: { apples: 3, pears: 0 },
    });
    expect(await call('list')).toMatchObject({
      text: '["apple","apple","apple"]',
      structured_content: { result: ['apple', 'apple', 'apple'] },
    });
    expect(await call('nothing')).toMatchObject({ content: [], is_error: false });
    expect((await call('picture')).content).toMatchObject([{ type: 'image', mimeType: 'image/png' }]);
    expect((await call('report')).content.map(({ type }) => type)).toEqual([
      'text',
      'image',
      'audio',
      'resource',
      'resource_link',
    ]);
  });
});

describe.each(['legacy', 'modern'] as const)('asking the client, on the %s era', (mode) => {
  async function connectTo(capabilities: ConnectOptions['capabilities'] = {}, isSure = true): Promise<Client> {
    const client = await connectInMemory(archive, { mode, capabilities });
    if ('elicitation' in capabilities) {
      client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { sure: isSure } }));
    }
    if ('sampling' in capabilities) {
      client.setRequestHandler('sampling/createMessage', () => ({
        role: 'assistant',
        content: { type: 'text', text: 'A boat at nine.' },
        model: 'm',
      }));
    }
    return client;
  }

  it('burns letters for whoever agrees, and for nobody else', async () => {
    const burn = async (client: Client) => textOf(await client.callTool({ name: 'burn' }));
    expect(await burn(await connectTo({ elicitation: {} }))).toBe('2 letters were burned.');
    expect(await burn(await connectTo({ elicitation: {} }, false))).toBe('Nothing was burned.');
  });

  it('asks the model of the client, or does without one', async () => {
    const summary = async (client: Client) =>
      textOf(await client.callTool({ name: 'summary', arguments: { letter: 1 } }));
    expect(await summary(await connectTo({ sampling: {} }))).toBe('A boat at nine.');
    expect(await summary(await connectTo())).toBe('Dear Ada, the boat leaves at nine.');
  });
});

describe('the shop', () => {
  it('has a resource, a template and a prompt', async () => {
    await using env = await openEnvironment(shop);
    expect(await env.agent.read('shop://rules')).toMatchObject({ mime_type: 'text/markdown', text: '# Be kind' });
    expect(JSON.parse(String((await env.agent.read('shop://orders/17')).text))).toMatchObject({ item: 'lamp' });
    expect(await env.agent.prompt('complain', { id: '18' })).toEqual([
      { role: 'user', content: { type: 'text', text: 'Write a short, polite complaint about order 18.' } },
    ]);
  });

  it('completes ids by its functions, and tones by their schema', async () => {
    const client = await connectInMemory(shop);
    const complete = async (ref: Parameters<Client['complete']>[0]['ref'], name: string, value: string) =>
      (await client.complete({ ref, argument: { name, value } })).completion.values;
    const prompt = { type: 'ref/prompt', name: 'complain' } as const;
    expect(await complete({ type: 'ref/resource', uri: 'shop://orders/{id}' }, 'id', '1')).toEqual(['17', '18']);
    expect(await complete(prompt, 'id', '18')).toEqual(['18']);
    expect(await complete(prompt, 'tone', 'an')).toEqual(['angry']);
  });

  it('tells a client of the order that it has subscribed to, and of tools that come and go', async () => {
    const client = await connectInMemory(shop);
    const told: string[] = [];
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => void told.push(params.uri));
    client.setNotificationHandler('notifications/tools/list_changed', () => void told.push('tools'));
    await client.subscribeResource({ uri: 'shop://orders/17' });
    await client.callTool({ name: 'ship', arguments: { id: '18' } });
    await client.callTool({ name: 'ship', arguments: { id: '17' } });
    await client.callTool({ name: 'start_sale' });
    await until(() => told.includes('tools'));
    expect(new Set(told)).toEqual(new Set(['shop://orders/17', 'tools']));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['ship', 'discount']);
  });
});

it('a file serves itself over HTTP, to whoever has its token', PATIENCE, async () => {
  const child = new Child(['--import', 'tsx', join(ROOT, 'docs/examples/serving.ts')], {
    env: { BANK_TOKEN: 'sesame' },
    hasProtocolDescriptor: true,
  });
  await until(() => child.stdout.includes('\n'));
  const [, url = ''] = /^The bank is open at (\S+)$/m.exec(child.stdout) ?? [];
  const { status } = await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
  expect(status).toBe(401);
  const client = await connect(httpTransport(url, { authorization: 'Bearer sesame' }));
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['transfer', 'balance']);
  await client.close();
  child.process.kill('SIGINT');
  expect(await child.exited).toBe(0);
});

/** What it throws. */
function thrownBy(make: () => unknown): Error {
  try {
    make();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('Nothing was thrown');
}
