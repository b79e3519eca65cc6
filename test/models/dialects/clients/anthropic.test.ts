import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/contract/errors.ts';
import { Anthropic } from '../../../referees/clients/anthropic.mjs';
import { type Play, serveDialects } from '../dialect-server.ts';
import { call, output } from '../outputs.ts';

async function open(...plays: Play[]) {
  const server = await serveDialects(...plays);
  return { server, client: new Anthropic({ apiKey: 'secret', baseURL: server.url, maxRetries: 0 }) };
}

const TOOLS = [
  { name: 'add', description: 'Adds', input_schema: { type: 'object', properties: { by: { type: 'integer' } } } },
];
const ASK = { model: 'any-name', max_tokens: 1_000, messages: [{ role: 'user', content: 'Go' }], tools: TOOLS };
const CALLS = output({
  content: 'I add.',
  reasoning: 'It is 2.',
  calls: [call('c1', 'add', { by: 1 }), call('c2', 'add', {})],
});
const DELTAS = [{ reasoning: 'It is' }, { reasoning: ' 2.' }, { content: 'I ' }, { content: 'add.' }];
const BLOCKS = [
  { type: 'thinking', thinking: 'It is 2.', signature: expect.stringMatching(/^proctor:[0-9a-f]{32}$/) },
  { type: 'text', text: 'I add.' },
  { type: 'tool_use', id: 'c1', name: 'add', input: { by: 1 } },
  { type: 'tool_use', id: 'c2', name: 'add', input: {} },
];

describe("Anthropic's client", () => {
  it('reads text, thinking, calls and usage', async () => {
    const { client, server } = await open({ output: CALLS });
    const message = await client.messages.create({ ...ASK, system: [{ type: 'text', text: 'Be brief.' }] });
    expect(message.content).toEqual(BLOCKS);
    expect(message.stop_reason).toBe('tool_use');
    expect(message.usage).toMatchObject({ input_tokens: 20, cache_read_input_tokens: 100, output_tokens: 30 });
    expect(server.requests[0]?.messages[0]).toEqual({ role: 'system', content: 'Be brief.' });
    expect(server.requests[0]?.settings).toEqual({ max_tokens: 1_000 });
  });

  it('assembles a stream, past pings, to the same', async () => {
    const { client } = await open({ output: CALLS, deltas: DELTAS });
    const texts: string[] = [];
    const stream = client.messages.stream(ASK).on('text', (text) => texts.push(text));
    const message = await stream.finalMessage();
    expect(message.content).toEqual(BLOCKS);
    expect(message).toMatchObject({ stop_reason: 'tool_use', usage: { output_tokens: 30 } });
    expect(texts).toEqual(['I ', 'add.']);
  });

  it('goes on with the blocks that came, and the results of their calls, text beside them', async () => {
    const { client, server } = await open({ output: CALLS });
    const { content } = await client.messages.create(ASK);
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
    const results = [
      { type: 'text', text: 'Go on.' },
      { type: 'tool_result', tool_use_id: 'c2', content: 'No', is_error: true },
      { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: '1' }, image] },
    ];
    const messages = [...ASK.messages, { role: 'assistant', content }, { role: 'user', content: results }];
    await client.messages.create({ ...ASK, messages });
    expect(server.requests[1]?.messages.slice(1)).toEqual([
      { ...CALLS.message },
      { role: 'tool', tool_call_id: 'c2', name: 'add', content: [{ type: 'text', text: 'No' }], is_error: true },
      {
        role: 'tool',
        tool_call_id: 'c1',
        name: 'add',
        content: [
          { type: 'text', text: '1' },
          { type: 'image', data: 'AAAA', mimeType: 'image/png' },
        ],
        is_error: false,
      },
      { role: 'user', content: [{ type: 'text', text: 'Go on.' }] },
    ]);
  });

  it('gets {} as the input of a call whose arguments are no JSON, also in a stream', async () => {
    const broken = { output: output({ calls: [call('c1', 'add', {}, '{"by":')] }) };
    const { client } = await open(broken);
    expect((await client.messages.create(ASK)).content).toEqual([
      { type: 'tool_use', id: 'c1', name: 'add', input: {} },
    ]);
    expect((await client.messages.stream(ASK).finalMessage()).content[0]?.input).toEqual({});
  });

  it('counts tokens and lists models', async () => {
    const { client, server } = await open();
    expect(await client.messages.countTokens({ model: 'm', messages: ASK.messages })).toEqual({ input_tokens: 42 });
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['exam-model']);
    expect(server.requests).toEqual([]);
  });

  it.each([
    ['run_finished', 400, 'invalid_request_error'],
    ['invalid_api_key', 401, 'authentication_error'],
    ['request_too_large', 413, 'request_too_large'],
    ['rate_limit_exceeded', 429, 'rate_limit_error'],
    ['internal_error', 500, 'api_error'],
    ['model_failed', 502, 'api_error'],
    ['capacity_exceeded', 529, 'overloaded_error'],
  ] as const)('gets %s as %i %s', async (code, status, type) => {
    const { client } = await open({ error: new ApiError(code, 'Why.') });
    const thrown = await client.messages.create(ASK).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ status, error: { type: 'error', error: { type, message: 'Why.' } } });
  });

  it('gets an error inside a stream', async () => {
    const { client } = await open({ error: new ApiError('capacity_exceeded', 'Full.'), afterDeltas: DELTAS });
    await expect(client.messages.stream(ASK).finalMessage()).rejects.toThrow(/overloaded_error/);
  });
});
