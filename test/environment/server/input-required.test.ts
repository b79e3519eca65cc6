import { EnvironmentServer } from 'proctor';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { until } from '../../until.ts';
import { connect, connectInMemory, errorOf, httpTransport, openMemory, serveHttp, textOf } from './clients.ts';
import { modern, send } from './raw-http.ts';

const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };
const NAME = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const ask = { message: 'Who?', requestedSchema: NAME };

/** Asks its client in every way. What its code does is written down in `events`. */
function createAsker(events: string[] = []): () => EnvironmentServer {
  return () => {
    const env = new EnvironmentServer({ name: 'asker' });
    env.tool('name', { args: { greeting: z.string().default('Hello') } }, async ({ greeting }, context) => {
      events.push('began');
      context.progress(10);
      const { action, content } = await context.elicit({ key: 'who', ...ask });
      context.progress(90);
      events.push(action);
      return `${greeting} ${content?.name} ${context.meta.round}`;
    });
    env.tool('other', {}, async (_args, { elicit }) => (await elicit({ key: 'who', ...ask })).action);
    env.tool('twice', {}, async (_args, { elicit }) => {
      const first = await elicit(ask);
      const second = await elicit(ask);
      return `${first.content?.name} and ${second.content?.name}`;
    });
    env.tool('everything', {}, async (_args, { elicit, sample, roots }) => {
      const messages = [{ role: 'user', content: 'Hi' }] as const;
      const answers = await Promise.all([elicit(ask), sample({ messages, maxTokens: 5 }), roots()]);
      return JSON.stringify(answers);
    });
    env.tool('fallback', {}, async (_args, { capabilities, elicit }) =>
      capabilities.elicitation ? (await elicit(ask)).action : 'nobody to ask',
    );
    env.tool('patient', {}, async (_args, { elicit, signal }) => {
      signal.addEventListener('abort', () => events.push(`aborted: ${(signal.reason as Error).message}`));
      return (await elicit({ key: 'who', ...ask })).action;
    });
    env.resource('asker://who', {}, async (_variables, { elicit }) => (await elicit({ key: 'who', ...ask })).content);
    env.prompt('who', {}, async (_args, { elicit }) => `I am ${(await elicit({ key: 'who', ...ask })).content?.name}`);
    env.scenario('named', {}, async function* (_args, { elicit }) {
      const { content } = await elicit({ key: 'who', ...ask });
      yield `Be ${content?.name}.`;
      return 1;
    });
    return env;
  };
}

const transports = [
  ['in memory', async (environment: unknown) => openMemory(environment)],
  ['over HTTP', async (environment: unknown) => httpTransport(await serveHttp(environment))],
] as const;
const eras = transports.flatMap(([where, open]) => [
  { where, mode: 'legacy' as const, open },
  { where, mode: 'modern' as const, open },
]);

describe.each(eras)('what author code asks, $where on the $mode era', ({ mode, open }) => {
  async function connectAnswering(events: string[] = []) {
    const client = await connect(await open(createAsker(events)), { mode, capabilities: CAPABILITIES });
    let asked = 0;
    client.setRequestHandler('elicitation/create', () => {
      asked += 1;
      return { action: 'accept', content: { name: ['Ada', 'Bob', 'Cyd'][asked - 1] ?? 'Dee' } };
    });
    client.setRequestHandler('sampling/createMessage', () => ({
      role: 'assistant',
      content: { type: 'text', text: 'hi' },
      model: 'm',
    }));
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///work', name: 'Work' }] }));
    return client;
  }

  it('is answered, and the code runs once from its first line to its last', async () => {
    const events: string[] = [];
    const client = await connectAnswering(events);
    const result = await client.callTool({ name: 'name', arguments: { greeting: 'Hi' } });
    expect(textOf(result)).toMatch(/^Hi Ada/);
    expect(events).toEqual(['began', 'accept']);
  });

  it('may be several questions, one after another or at once', async () => {
    const client = await connectAnswering();
    expect(textOf(await client.callTool({ name: 'twice' }))).toBe('Ada and Bob');
    const everything = JSON.parse(textOf(await client.callTool({ name: 'everything' })));
    expect(everything).toEqual([
      { action: 'accept', content: { name: 'Cyd' } },
      { role: 'assistant', content: { type: 'text', text: 'hi' }, model: 'm' },
      [{ uri: 'file:///work', name: 'Work' }],
    ]);
  });

  it('may be asked by prompts, by resources and by the setup of a scenario', async () => {
    const client = await connectAnswering();
    expect((await client.getPrompt({ name: 'who' })).messages[0]?.content).toMatchObject({ text: 'I am Ada' });
    expect((await client.readResource({ uri: 'asker://who' })).contents[0]).toMatchObject({ text: '{"name":"Bob"}' });
    expect((await client.getPrompt({ name: 'named' })).messages[0]?.content).toMatchObject({ text: 'Be Cyd.' });
  });

  it('is not asked of a client that does not offer it', async () => {
    const client = await connect(await open(createAsker()), { mode });
    expect(textOf(await client.callTool({ name: 'fallback' }))).toBe('nobody to ask');
  });
});

describe('a requestState of 2026-07-28', () => {
  const accepted = { inputResponses: { who: { action: 'accept', content: { name: 'Ada' } } } };
  const meta = { 'io.modelcontextprotocol/clientCapabilities': CAPABILITIES };

  async function open(events: string[] = []) {
    const url = await serveHttp(createAsker(events), { bearerToken: 'token', harnessKey: 'k'.repeat(32) });
    return async (params: Record<string, unknown>, more: object = {}) => {
      const { headers, ...request } = modern('tools/call', params, { ...meta, ...more });
      const { text } = await send(url, { ...request, headers: { ...headers, authorization: 'Bearer token' } });
      const last = text.startsWith('{')
        ? text
        : (text
            .match(/^data: (.*)$/gm)
            ?.at(-1)
            ?.slice(6) ?? '');
      return JSON.parse(last) as { result?: Record<string, unknown>; error?: { code: number; message: string } };
    };
  }

  it('comes with the questions, and continues the call', async () => {
    const events: string[] = [];
    const call = await open(events);
    const { result } = await call({ name: 'name' }, { round: 1 });
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { who: { method: 'elicitation/create', params: ask } },
      requestState: expect.any(String),
    });
    const done = await call({ name: 'name', requestState: result?.requestState, ...accepted }, { round: 2 });
    expect(done.result).toMatchObject({ content: [{ type: 'text', text: 'Hello Ada 2' }] });
    expect(events).toEqual(['began', 'accept']);
  });

  it('is asked again where the answer is missing, malformed or does not fit the schema', async () => {
    const call = await open();
    let { result } = await call({ name: 'name' });
    for (const inputResponses of [
      {},
      { other: accepted.inputResponses.who },
      { who: { action: 'perhaps' } },
      { who: { action: 'accept', content: { name: 5 } } },
    ]) {
      const state = result?.requestState;
      ({ result } = await call({ name: 'name', requestState: state, inputResponses }));
      expect(result).toMatchObject({ resultType: 'input_required' });
      expect(result?.requestState).not.toBe(state);
    }
    const declined = { inputResponses: { who: { action: 'decline' } } };
    const done = await call({ name: 'name', requestState: result?.requestState, ...declined });
    expect(done.result).toMatchObject({ content: [{ text: 'Hello undefined undefined' }] });
  });

  it('takes answers to questions that it knows by name before they are asked', async () => {
    const call = await open();
    expect((await call({ name: 'other', ...accepted })).result).toMatchObject({ content: [{ text: 'accept' }] });
  });

  it('is good for one retry of the same request alone', async () => {
    const call = await open();
    const state = (await call({ name: 'name', arguments: { greeting: 'a' } })).result?.requestState as string;
    const refused = { code: -32602, message: expect.stringContaining('Invalid or expired requestState') };
    const same = { name: 'name', arguments: { greeting: 'a' }, ...accepted };
    for (const wrong of [
      `${state}x`,
      `x${state}`,
      state.replace('.', ''),
      `${state}.x`,
      '',
      'x.y',
      state.toUpperCase(),
    ]) {
      expect((await call({ ...same, requestState: wrong })).error).toMatchObject(refused);
    }
    expect((await call({ ...same, arguments: { greeting: 'b' }, requestState: state })).error).toMatchObject(refused);
    expect((await call({ name: 'other', ...accepted, requestState: state })).error).toMatchObject(refused);
    const asHarness = { 'svc/audience': 'harness', 'svc/harness_key': 'k'.repeat(32) };
    expect((await call({ ...same, requestState: state }, asHarness)).error).toMatchObject(refused);
    expect((await call({ ...same, requestState: state })).result).toMatchObject({
      content: [{ text: 'a Ada undefined' }],
    });
    expect((await call({ ...same, requestState: state })).error).toMatchObject(refused);
  });

  it('of another session is none', async () => {
    const [first, second] = [await open(), await open()];
    const { result } = await first({ name: 'name' });
    const answer = await second({ name: 'name', requestState: result?.requestState, ...accepted });
    expect(answer.error?.code).toBe(-32602);
  });

  it('is bound in number: the oldest call gives way, and its signal is aborted', async () => {
    const events: string[] = [];
    const call = await open(events);
    const { result } = await call({ name: 'patient' });
    for (let count = 0; count < 32; count += 1) await call({ name: 'other' });
    expect(events).toEqual(['aborted: More than 32 calls of the session wait for answers of the client']);
    const late = await call({ name: 'patient', requestState: result?.requestState, ...accepted });
    expect(late.error?.code).toBe(-32602);
  });

  it('is forgotten after ten minutes, and the signal of its call is aborted', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const events: string[] = [];
    const call = await open(events);
    const { result } = await call({ name: 'patient' });
    vi.advanceTimersByTime(599_000);
    expect(events).toEqual([]);
    vi.advanceTimersByTime(1_000);
    expect(events).toEqual(['aborted: The client has not answered within 600 seconds']);
    const late = await call({ name: 'patient', requestState: result?.requestState, ...accepted });
    expect(late.error?.code).toBe(-32602);
  });

  it('names the capability that is missing, with a status of 400', async () => {
    const url = await serveHttp(createAsker());
    const { status, text } = await send(url, modern('tools/call', { name: 'other' }));
    expect(status).toBe(400);
    expect(JSON.parse(text).error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: {} } },
    });
  });
});

describe('a call that waits for an answer', () => {
  it('is aborted when its session ends', async () => {
    const events: string[] = [];
    const client = await connectInMemory(createAsker(events), { mode: 'modern', capabilities: CAPABILITIES });
    let isAsked = false;
    client.setRequestHandler('elicitation/create', () => {
      isAsked = true;
      return new Promise(() => {});
    });
    client.callTool({ name: 'patient' }).catch(() => {});
    await until(() => isAsked);
    await client.close();
    await until(() => events.length > 0);
    expect(events).toEqual(['aborted: The session has ended']);
  });

  it('and goes on is aborted with the request that brought the answer', async () => {
    const events: string[] = [];
    const env = () =>
      new EnvironmentServer({ name: 'e' }).tool('slow', {}, async (_args, { elicit, signal }) => {
        await elicit(ask);
        events.push('answered');
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
        events.push('aborted');
      });
    const client = await connectInMemory(env, { mode: 'modern', capabilities: CAPABILITIES });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Ada' } }));
    const aborter = new AbortController();
    const cancelled = errorOf(client.callTool({ name: 'slow' }, { signal: aborter.signal }));
    await until(() => events.includes('answered'));
    aborter.abort();
    await cancelled;
    await until(() => events.includes('aborted'));
  });

  it('fails when its client has nobody who answers', async () => {
    const client = await connectInMemory(createAsker(), { mode: 'modern', capabilities: CAPABILITIES });
    const { message } = await errorOf(client.callTool({ name: 'other' }));
    expect(message).toContain('elicitation/create');
  });
});
