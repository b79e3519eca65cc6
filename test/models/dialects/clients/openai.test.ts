import OpenAI, { APIError, BadRequestError, RateLimitError } from 'openai';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/contract/errors.ts';
import { type Play, serveDialects } from '../dialect-server.ts';
import { call, output, USAGE } from '../outputs.ts';

async function open(...plays: Play[]) {
  const server = await serveDialects(...plays);
  return { server, client: new OpenAI({ apiKey: 'secret', baseURL: `${server.url}/v1`, maxRetries: 0 }) };
}

const ADD = {
  name: 'add',
  description: 'Adds',
  parameters: { type: 'object', properties: { by: { type: 'integer' } }, required: ['by'] },
};
const CALLS = output({
  content: 'I add.',
  reasoning: 'It is 2.',
  calls: [call('c1', 'add', { by: 1 }), call('c2', 'add', { by: 2 })],
});
const DELTAS = [{ reasoning: 'It is' }, { reasoning: ' 2.' }, { content: 'I ' }, { content: 'add.' }];
const QUOTA = new ApiError('rate_limit_exceeded', 'The gateway is busy.', { headers: { 'retry-after': '7' } });

describe('chat completions of the openai client', () => {
  const ask = { model: 'any-name', messages: [{ role: 'user' as const, content: 'Go' }] };
  const tools = [{ type: 'function' as const, function: ADD }];

  it('read text, reasoning, calls and usage', async () => {
    const { client, server } = await open({ output: CALLS });
    const { choices, usage } = await client.chat.completions.create({ ...ask, tools });
    expect(choices[0]?.message).toMatchObject({ content: 'I add.', reasoning_content: 'It is 2.' });
    expect(choices[0]?.message.tool_calls).toEqual([
      { id: 'c1', type: 'function', function: { name: 'add', arguments: '{"by":1}' } },
      { id: 'c2', type: 'function', function: { name: 'add', arguments: '{"by":2}' } },
    ]);
    expect(choices[0]?.finish_reason).toBe('tool_calls');
    expect(usage).toMatchObject({ prompt_tokens: 120, prompt_tokens_details: { cached_tokens: 100 } });
    expect(server.requests[0]).toMatchObject({ model: 'any-name', tools: [{ name: 'add', form: 'function' }] });
  });

  it('assemble a stream, past comments, to the same', async () => {
    const { client } = await open({ output: CALLS, deltas: DELTAS });
    const stream = client.chat.completions.stream({ ...ask, tools, stream_options: { include_usage: true } });
    const seen: string[] = [];
    stream.on('content', (text) => seen.push(text));
    const completion = await stream.finalChatCompletion();
    expect(seen).toEqual(['I ', 'add.']);
    expect(completion.choices[0]?.message).toMatchObject({ content: 'I add.' });
    expect(completion.choices[0]?.message.tool_calls?.map(({ id }) => id)).toEqual(['c1', 'c2']);
    expect(completion.usage?.total_tokens).toBe(USAGE.total_tokens);
  });

  it('call a custom tool with a text, and send its result back', async () => {
    const { client, server } = await open({ output: output({ calls: [call('c1', 'patch', { input: '*** Begin' })] }) });
    const custom = [{ type: 'custom' as const, custom: { name: 'patch', description: 'Patches' } }];
    const { choices } = await client.chat.completions.create({ ...ask, tools: custom });
    const message = choices[0]?.message;
    expect(message?.tool_calls).toEqual([{ id: 'c1', type: 'custom', custom: { name: 'patch', input: '*** Begin' } }]);
    const result = { role: 'tool' as const, tool_call_id: 'c1', content: 'Done' };
    await client.chat.completions.create({
      ...ask,
      tools: custom,
      messages: [...ask.messages, message ?? result, result],
    });
    expect(server.requests[1]?.messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'c1', name: 'patch', arguments: { input: '*** Begin' } }] },
      { role: 'tool', tool_call_id: 'c1', name: 'patch', content: [{ type: 'text', text: 'Done' }] },
    ]);
  });

  it('get errors as their own classes, before and inside a stream', async () => {
    const { client } = await open({ error: QUOTA }, { error: QUOTA, afterDeltas: DELTAS });
    const refused = await client.chat.completions.create(ask).catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(RateLimitError);
    expect((refused as RateLimitError).headers?.get('retry-after')).toBe('7');
    const stream = client.chat.completions.stream(ask);
    await expect(stream.finalChatCompletion()).rejects.toThrow(/busy/);
  });

  it('are told that the run is over with 400, which nobody tries again', async () => {
    const { client } = await open({ error: new ApiError('run_finished', 'The run has ended.') });
    const refused = await client.chat.completions.create(ask).catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(BadRequestError);
    expect(refused).toMatchObject({ code: 'run_finished', status: 400 });
  });

  it('list models', async () => {
    const { client } = await open();
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['exam-model']);
    expect((await client.models.retrieve('exam-model')).id).toBe('exam-model');
  });
});

describe('responses of the openai client', () => {
  const ask = { model: 'any-name', input: 'Go', instructions: 'Be brief.' };
  const tools = [{ type: 'function' as const, strict: false, ...ADD }];

  it('read text, reasoning, calls and usage', async () => {
    const { client, server } = await open({ output: CALLS });
    const response = await client.responses.create({ ...ask, tools });
    expect(response.status).toBe('completed');
    expect(response.output_text).toBe('I add.');
    expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call', 'function_call']);
    expect(response.output[2]).toMatchObject({ call_id: 'c1', name: 'add', arguments: '{"by":1}' });
    expect(response.usage).toMatchObject({ input_tokens: 120, output_tokens_details: { reasoning_tokens: 10 } });
    expect(server.requests[0]?.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Go' },
    ]);
  });

  it('assemble a stream, past comments, to the same', async () => {
    const { client } = await open({ output: CALLS, deltas: DELTAS });
    const stream = client.responses.stream({ ...ask, tools });
    const types: string[] = [];
    stream.on('event', ({ type }) => types.push(type));
    const response = await stream.finalResponse();
    expect(response.output_text).toBe('I add.');
    expect(response.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call', 'function_call']);
    expect(types.filter((type) => type === 'response.output_text.delta')).toHaveLength(2);
    expect(types[0]).toBe('response.created');
    expect(types.at(-1)).toBe('response.completed');
  });

  it('go on with the items that came, and the results of their calls', async () => {
    const { client, server } = await open({ output: CALLS }, { output: output({ content: '3' }) });
    const first = await client.responses.create({ ...ask, tools });
    const results = ['c2', 'c1'].map((id) => ({
      type: 'function_call_output' as const,
      call_id: id,
      output: `of ${id}`,
    }));
    const input = [{ role: 'user' as const, content: 'Go' }, ...first.output, ...results];
    const second = await client.responses.create({ ...ask, tools, input: input as OpenAI.Responses.ResponseInput });
    expect(second.output_text).toBe('3');
    expect(server.requests[1]?.messages.slice(2)).toMatchObject([
      { role: 'assistant', content: 'I add.', reasoning: 'It is 2.', tool_calls: CALLS.message.tool_calls },
      { role: 'tool', tool_call_id: 'c2', name: 'add', content: [{ type: 'text', text: 'of c2' }] },
      { role: 'tool', tool_call_id: 'c1', name: 'add', content: [{ type: 'text', text: 'of c1' }] },
    ]);
  });

  it('are told that an answer was cut at the limit', async () => {
    const { client } = await open({ output: output({ content: 'A', finishReason: 'length' }) });
    const response = await client.responses.create(ask);
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    const stream = client.responses.stream(ask);
    expect(await stream.finalResponse()).toMatchObject({ status: 'incomplete' });
  });

  it('get errors as their own classes, before and inside a stream', async () => {
    const { client } = await open({ error: QUOTA }, { error: QUOTA, afterDeltas: DELTAS });
    await expect(client.responses.create(ask)).rejects.toBeInstanceOf(RateLimitError);
    const events: unknown[] = [];
    const read = async () => {
      for await (const event of await client.responses.create({ ...ask, stream: true })) events.push(event);
    };
    await expect(read()).rejects.toBeInstanceOf(APIError);
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { error: { code: 'rate_limit_exceeded' } },
    });
  });

  it('cannot go on from a response that the service would have to keep', async () => {
    const { client } = await open({ output: CALLS });
    await expect(client.responses.create({ ...ask, previous_response_id: 'resp_1' })).rejects.toThrow(
      /previous_response_id/,
    );
    const input = [{ type: 'item_reference' as const, id: 'msg_1' }];
    await expect(client.responses.create({ ...ask, input })).rejects.toThrow(/msg_1/);
  });
});
