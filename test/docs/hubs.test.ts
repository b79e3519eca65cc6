import { openEnvironment } from 'proctor/testing';
import { describe, expect, it, vi } from 'vitest';
import { grade } from '../../docs/examples/grade-over-http.ts';
import riddles from '../../docs/examples/riddles.ts';
import { connect, connectInMemory, errorOf, HARNESS, httpTransport, serveHttp } from '../environment/server/clients.ts';

const HARNESS_KEY = 'a key that only the test knows';
const HIDDEN = ['answers', 'setup', 'evaluate', 'solution'];

describe('a hub', () => {
  it('is one tool, whose schema names its functions', async () => {
    await using env = await openEnvironment(riddles);
    const [book, ...others] = await env.agent.tools();
    expect([book?.name, others]).toEqual(['book', []]);
    expect(JSON.stringify(book?.input_schema)).toContain('"enum":["count","read"]');
    expect((await env.agent.call('book', { name: 'read', arguments: { page: 1 } })).text).toContain('hands');
    expect((await env.agent.call('book', { name: 'count' })).text).toBe('2');
  });

  it('says what there is, when it is asked for what there is not', async () => {
    await using env = await openEnvironment(riddles);
    const unknown = await env.agent.call('book', { name: 'burn' });
    expect(unknown.is_error).toBe(true);
    expect(unknown.text).toMatch(/count.*read/s);
    expect(await env.agent.call('book', { name: 'read', arguments: { page: 9 } })).toMatchObject({ is_error: true });
  });

  it('describes its functions in a resource', async () => {
    await using env = await openEnvironment(riddles);
    const { text } = await env.agent.read('book://functions');
    expect(JSON.parse(String(text))).toMatchObject({ functions: [{ name: 'count' }, { name: 'read' }] });
  });
});

describe.each(['legacy', 'modern'] as const)('what an agent can see, on the %s era', (mode) => {
  it('is nothing of the harness', async () => {
    const client = await connectInMemory(riddles, { mode });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['book']);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri).toSorted()).toEqual(['book://functions', 'svc://scenarios']);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['solve']);
  });

  it('a hidden name and one that does not exist are answered alike', async () => {
    const client = await connectInMemory(riddles, { mode });
    const answerTo = async (name: string) => {
      const { code, message } = await errorOf(client.callTool({ name, arguments: { name: 'look_up' } }));
      return { code, message: message.replaceAll(name, 'NAME') };
    };
    const unknown = await answerTo('zzzz');
    expect(unknown.code).toBe(-32602);
    for (const name of HIDDEN) expect(await answerTo(name)).toEqual(unknown);
    const secret = await errorOf(client.readResource({ uri: 'riddles://answers' }));
    const absent = await errorOf(client.readResource({ uri: 'riddles://nothing' }));
    expect({ ...secret, message: secret.message.replace('answers', 'nothing') }).toEqual(absent);
  });

  it('a harness sees all of it, and what an agent sees in requests that it marks so', async () => {
    const client = await connectInMemory(riddles, { mode, meta: HARNESS });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(HIDDEN.slice(0, 3)),
    );
    const asAgent = { _meta: { 'svc/audience': 'agent' } };
    expect((await client.listTools(asAgent)).tools.map(({ name }) => name)).toEqual(['book']);
  });

  it('over HTTP the key makes a harness: neither the word alone nor a wrong key does', async () => {
    const url = await serveHttp(riddles, { harnessKey: HARNESS_KEY });
    const seen = async (meta: Record<string, string>) => {
      const client = await connect(httpTransport(url), { mode, meta });
      return (await client.listTools()).tools.map(({ name }) => name);
    };
    expect(await seen({})).toEqual(['book']);
    expect(await seen(HARNESS)).toEqual(['book']);
    expect(await seen({ ...HARNESS, 'svc/harness_key': 'another' })).toEqual(['book']);
    expect(await seen({ ...HARNESS, 'svc/harness_key': HARNESS_KEY })).toContain('evaluate');
  });
});

it('an adapter of one`s own grades over HTTP', async () => {
  vi.spyOn(console, 'log').mockImplementation(() => {});
  const url = await serveHttp(riddles, { harnessKey: HARNESS_KEY });
  expect(await grade(url, HARNESS_KEY, 'It is a clock.')).toBe(1);
  expect(await grade(url, HARNESS_KEY, 'It is a seal.')).toBe(0);
  await expect(grade(url, 'a wrong key', 'It is a clock.')).rejects.toThrow('harness');
});
