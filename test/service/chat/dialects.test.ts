import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { type Svc, svcSchema } from '../../../src/contract/session.ts';
import type { DialectName } from '../../../src/models/dialects/dialect.ts';
import { DIALECTS } from '../../../src/models/dialects/dialects.ts';
import type { ModelOutput } from '../../../src/models/dialects/model-output.ts';
import { guardedByKey } from '../../../src/service/chat/serve-scenarios.ts';
import { calls, says } from '../../gateway.ts';
import { type Reply, send } from '../../support/http/http-server.ts';
import { holdRequest } from './open-chat.ts';
import { counting, finishedOf, serve, type TestServer } from './server.ts';

type Texts = readonly string[];

/** A protocol as a client of it speaks; its answers are read as those of a gateway that speaks it. */
interface Protocol {
  readonly name: DialectName;
  path(isStreamed: boolean): string;
  /** The body of a turn with a history of texts, the user's first. */
  body(texts: Texts, isStreamed: boolean): object;
  readonly keyHeader: string;
  /** The field with the history. */
  readonly list: string;
  /** The error of a request without a user's text. */
  readonly refused: object;
}

const rolesOf = (texts: Texts, model = 'assistant') =>
  texts.map((content, index) => ({ role: index % 2 === 0 ? 'user' : model, content }));

const REFUSED = { code: 'invalid_parameter', message: expect.stringMatching(/no user message after/) };

const PROTOCOLS: readonly Protocol[] = [
  {
    name: 'chat',
    path: () => '/v1/chat/completions',
    body: (texts, stream) => ({
      messages: rolesOf(texts),
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
    }),
    keyHeader: 'authorization',
    list: 'messages',
    refused: { error: { type: 'invalid_request_error', param: 'messages', ...REFUSED } },
  },
  {
    name: 'responses',
    path: () => '/v1/responses',
    body: (texts, stream) => ({ input: rolesOf(texts), stream }),
    keyHeader: 'authorization',
    list: 'input',
    refused: { error: { type: 'invalid_request_error', param: 'input', ...REFUSED } },
  },
  {
    name: 'messages',
    path: () => '/v1/messages',
    body: (texts, stream) => ({ max_tokens: 100, messages: rolesOf(texts), stream }),
    keyHeader: 'x-api-key',
    list: 'messages',
    refused: { type: 'error', error: { type: 'invalid_request_error', ...REFUSED } },
  },
  {
    name: 'gemini',
    path: (isStreamed) =>
      `/v1beta/models/test-model:${isStreamed ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: (texts) => ({
      contents: rolesOf(texts, 'model').map(({ role, content }) => ({ role, parts: [{ text: content }] })),
    }),
    keyHeader: 'x-goog-api-key',
    list: 'contents',
    refused: { error: { code: 400, status: 'INVALID_ARGUMENT', message: REFUSED.message } },
  },
];
const BOTH = PROTOCOLS.flatMap((protocol) => [false, true].map((isStreamed) => ({ ...protocol, isStreamed })));

type Headers = Readonly<Record<string, string>>;
type Form = Protocol & { readonly isStreamed?: boolean };

function ask(server: TestServer, form: Form, texts: Texts, fields: object = {}, headers: Headers = {}): Promise<Reply> {
  const { isStreamed = false } = form;
  return server.post(form.path(isStreamed), { ...form.body(texts, isStreamed), ...fields }, headers);
}

/** An answer as a client of the protocol has it. */
function outputOf({ name, isStreamed = false }: Form, { text }: Reply): ModelOutput {
  const dialect = DIALECTS[name];
  const body = name === 'gemini' ? { contents: [] } : name === 'responses' ? { input: 'x' } : { messages: [] };
  const request = dialect.readRequest({ body, isStreamed });
  if (!isStreamed) return dialect.readResponse(request, JSON.parse(text));
  const reader = dialect.createStreamReader(request);
  reader.add(Buffer.from(text));
  return reader.finish();
}

/** The last `svc` of an answer, at whatever place. */
function svcOf({ text }: Reply): Svc {
  const found = [...text.matchAll(/"svc":(\{[^{}]*\})/g)].map(([, svc = '']) => JSON.parse(svc) as unknown);
  return svcSchema.parse(found.at(-1));
}

describe.each(BOTH)('a session by $name, streamed: $isStreamed,', (form) => {
  it('is started, played with tools, continued with the whole history, and graded', async () => {
    const server = await serve({ plays: [calls(['increment', { by: 2 }]), says('It is', ' two.'), says('Yes.')] });
    const first = await ask(server, form, ['Go.'], counting(2));
    expect([first.status, first.headers['content-type']]).toEqual([
      200,
      expect.stringContaining(form.isStreamed ? 'text/event-stream' : 'application/json'),
    ]);
    expect(outputOf(form, first)).toMatchObject({
      message: { content: 'It is two.', tool_calls: [] },
      finishReason: 'stop',
      usage: { prompt_tokens: 20, completion_tokens: 10 },
    });
    const id = String(first.headers['x-svc-session-id']);
    expect(svcOf(first)).toMatchObject({ session_id: id, scenario: 'count_to', status: 'active', steps: 2 });

    const next = await ask(server, form, ['Go.', 'It is two.', 'Sure?'], {}, { 'x-svc-session-id': id });
    expect(outputOf(form, next).message.content).toBe('Yes.');
    expect(svcOf(next)).toMatchObject({ session_id: id, steps: 3 });
    const sent = server.gateway.requests.at(-1)?.body as {
      readonly messages: readonly { readonly content: unknown }[];
    };
    expect(JSON.stringify(sent.messages.at(-1))).toContain('Sure?');
    expect(JSON.stringify(sent.messages).match(/Go\./g)).toHaveLength(1);

    const end = await server.post(`/v1/sessions/${id}/finish`);
    expect(finishedOf(end)).toMatchObject({ reward: 1, answer: 'Yes.', status: 'finished' });
  });

  it('has one turn at a time: a second one is refused with 409', async () => {
    const held = holdRequest();
    const server = await serve({ plays: [says('Done.'), held.play] });
    const id = svcOf(await ask(server, form, ['Go.'], counting(1))).session_id;
    const running = ask(server, form, ['More.'], { thread_id: id });
    const response = await held.asked;
    const refused = await ask(server, form, ['Again.'], { thread_id: id });
    expect([refused.status, refused.headers['x-should-retry']]).toEqual([409, 'false']);
    expect(refused.text).toMatch(/still running/);
    await says('Late.')(response);
    expect(outputOf(form, await running).message.content).toBe('Late.');
  });

  it('gets the answer again that its idempotency key has', async () => {
    const server = await serve({ plays: [says('Done.')] });
    const again = { 'idempotency-key': 'k1' };
    const [first, second] = [
      await ask(server, form, ['Go.'], counting(1), again),
      await ask(server, form, ['Go.'], counting(1), again),
    ];
    expect(outputOf(form, second)).toEqual(outputOf(form, first));
    expect(svcOf(second)).toEqual(svcOf(first));
    expect(server.gateway.requests).toHaveLength(1);
  });
});

describe.each(PROTOCOLS)('a request by $name', (form) => {
  it('is refused in the form of its protocol, and starts nothing', async () => {
    const server = await serve();
    const id = svcOf(await ask(server, form, ['Go.'], counting(1))).session_id;
    const refused = await ask(server, form, ['Go.', 'Done.'], { thread_id: id });
    expect(refused.status).toBe(400);
    expect(refused.json).toMatchObject(form.refused);
    for (const [fields, says_] of [
      [{ [form.list]: 7 }, new RegExp(form.list)],
      [{ scenario: 'count_to' }, /scenario_args/],
      [{ ...counting(1), tools: [{ name: 'f', type: 'function' }] }, /environment supplies the tools/],
      [{ ...counting(1), max_steps: 0 }, /1 to 500/],
    ] as const) {
      const reply = await ask(server, form, ['Go.'], fields);
      expect(reply.status).toBe(400);
      expect(reply.text).toMatch(says_);
    }
    expect((await ask(server, form, ['Go.'], { thread_id: 'sess_0' })).status).toBe(404);
    expect(server.gateway.requests).toHaveLength(1);
  });

  it('shows its key where the clients of its protocol put it, or as a bearer token', async () => {
    const server = await serve(guardedByKey('k3y'));
    const key = form.keyHeader === 'authorization' ? 'Bearer k3y' : 'k3y';
    expect((await ask(server, form, ['Go.'], counting(1), { [form.keyHeader]: key })).status).toBe(200);
    expect((await ask(server, form, ['Go.'], counting(1), { authorization: 'Bearer k3y' })).status).toBe(200);
    const refused = await ask(server, form, ['Go.'], counting(1), { [form.keyHeader]: 'nope' });
    expect(refused.status).toBe(401);
    expect(Object.keys(refused.json as object)).toEqual(Object.keys(form.refused));
  });

  it('gets the failure of a stream that has begun as its last event', async () => {
    const server = await serve({
      plays: [(response) => void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(CUT)],
    });
    const reply = await ask(server, { ...form, isStreamed: true }, ['Go.'], counting(1));
    expect(reply.text).toContain('Half');
    expect(reply.text).toMatch(/model_failed/);
    expect(() => outputOf({ ...form, isStreamed: true }, reply)).toThrow();
  });
});

/** A stream of a gateway that ends in the middle of a text. */
const CUT = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Half' } }] })}\n\n`;

it.each([
  ['/v1/responses', { input: 'Count.', temperature: 'hot' }, /temperature/],
  [
    '/v1/responses',
    { input: 'Count.', max_output_tokens: 'many' },
    /max_tokens|max_output_tokens|max_completion_tokens/,
  ],
  ['/v1/responses', { input: [] }, /input has to be a list that is not empty/],
  ['/v1/messages', { max_tokens: 'lots', messages: [{ role: 'user', content: 'Count.' }] }, /max_tokens/],
  ['/v1/messages', { max_tokens: 10, messages: [] }, /messages has to be a list that is not empty/],
  ['/v1beta/models/m:generateContent', { contents: [] }, /contents has to be a list that is not empty/],
  [
    '/v1beta/models/m:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'Count.' }] }], generationConfig: { temperature: 'hot' } },
    /temperature/,
  ],
])('%s refuses %j, and begins nothing', async (path, body, message) => {
  const server = await serve();
  const reply = await server.post(path, { ...body, ...counting(1) });
  expect([reply.status, reply.text]).toEqual([400, expect.stringMatching(message)]);
  expect(server.gateway.requests).toHaveLength(0);
});

it('a session that one protocol began is continued by another one', async () => {
  const server = await serve({ plays: [says('One.'), says('Two.'), says('Three.'), says('Four.')] });
  let id: string | undefined;
  for (const [index, form] of PROTOCOLS.entries()) {
    const reply = await ask(server, form, ['Go.'], id === undefined ? counting(1) : { thread_id: id });
    expect(outputOf(form, reply).message.content).toBe(['One.', 'Two.', 'Three.', 'Four.'][index]);
    id = svcOf(reply).session_id;
  }
});

describe('Gemini', () => {
  const [form] = PROTOCOLS.filter(({ name }) => name === 'gemini');

  it('takes a model with a slash in the path, and its key in the query', async () => {
    const server = await serve({ ...guardedByKey('k3y'), model: 'test-model' });
    const body = JSON.stringify({ ...form?.body(['Go.'], false), ...counting(1) });
    const headers = { 'content-type': 'application/json' };
    const path = '/v1beta/models/proctor/oracle:generateContent?key=k3y';
    const reply = await send(server.url, path, { method: 'POST', headers, body });
    expect(reply.json).toMatchObject({ modelVersion: 'proctor/oracle' });
  });

  it('knows no other verb', async () => {
    const server = await serve();
    const reply = await server.post('/v1beta/models/test-model:embedContent', { contents: [] });
    expect([reply.status, reply.json]).toEqual([404, { error: expect.objectContaining({ status: 'NOT_FOUND' }) }]);
  });
});

describe("OpenAI's client for Responses", () => {
  it('starts a session, and continues it by its conversation', async () => {
    const server = await serve({ plays: [says('One.'), says('Two.')] });
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', logLevel: 'off' });
    const first = await client.responses.create({ input: 'Go.', instructions: 'Be brief.', ...counting(1) });
    const { session_id } = svcSchema.parse((first as object as { svc: unknown }).svc);
    expect([first.output_text, first.status]).toEqual(['One.', 'completed']);
    const stream = client.responses.stream({ input: 'More.', conversation: session_id });
    const last = await stream.finalResponse();
    expect(last.output_text).toBe('Two.');
    expect(svcSchema.parse((last as object as { svc: unknown }).svc)).toMatchObject({ session_id, steps: 2 });
  });

  it('is told that an earlier response names no session', async () => {
    const server = await serve();
    const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', logLevel: 'off', maxRetries: 0 });
    await expect(client.responses.create({ input: 'Go.', previous_response_id: 'resp_1' })).rejects.toMatchObject({
      status: 400,
      param: 'previous_response_id',
    });
  });
});
