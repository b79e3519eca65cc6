import { describe, expect, it } from 'vitest';
import { delta } from '../../gateway.ts';
import { chunkModel, DONE } from './chunk-model.ts';
import { toRequest } from './gateway-model.ts';

const responseOf = (...chunks: readonly unknown[]) => chunkModel(...chunks).model.respond(toRequest());
const callsOf = async (...pieces: readonly object[]) =>
  (await responseOf(...pieces.map((piece) => delta({ tool_calls: [piece] })), DONE)).message.tool_calls;

const nested = (depth: number) => `{"x":${'['.repeat(depth)}${']'.repeat(depth)}}`;

describe('tool calls', () => {
  it('get an id where the gateway gives none, each its own', async () => {
    const calls = await callsOf(
      { index: 0, function: { name: 'f', arguments: '{}' } },
      { index: 1, id: '', function: { name: 'f', arguments: '{}' } },
      { index: 2, id: 'a', function: { name: 'f', arguments: '{}' } },
      { index: 3, id: 'a', function: { name: 'f', arguments: '{}' } },
    );
    expect(new Set(calls.map((call) => call.id)).size).toBe(4);
    expect(calls[0]?.id).toMatch(/^call_[0-9a-f]{24}$/);
    expect(calls[2]?.id).toBe('a');
  });

  it('without index go by id, and by name where they have no id', async () => {
    const calls = await callsOf(
      { id: 'a', function: { name: 'f', arguments: '{"x"' } },
      { id: 'b', function: { name: 'g', arguments: '{"y"' } },
      { id: 'a', function: { arguments: ':1}' } },
      { id: 'b', function: { arguments: ':2}' } },
      { function: { name: 'h', arguments: '{"z"' } },
      { function: { arguments: ':3}' } },
    );
    expect(calls.map((call) => [call.name, call.arguments])).toEqual([
      ['f', { x: 1 }],
      ['g', { y: 2 }],
      ['h', { z: 3 }],
    ]);
  });

  it('are one where id and name are repeated, or the id changes without a name', async () => {
    const calls = await callsOf(
      { index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } },
      { index: 0, id: 'a', function: { name: 'f', arguments: ':' } },
      { index: 0, id: 'other', function: { arguments: '1}' } },
    );
    expect(calls).toEqual([{ id: 'a', name: 'f', arguments: { x: 1 }, raw_arguments: null }]);
  });

  it.each([
    ['nothing', '', {}, null],
    ['blanks', ' \n', {}, null],
    ['an object as it is', { x: 1 }, { x: 1 }, null],
    ['a list', '[1]', {}, '[1]'],
    ['null', 'null', {}, 'null'],
    ['a text that holds JSON', '"{}"', {}, '"{}"'],
    ['half of it', '{"x": "a', {}, '{"x": "a'],
    ['one too many', '{}""', {}, '{}""'],
    ['nested without measure', nested(10_000), {}, nested(10_000)],
  ])('whose arguments are %s', async (_, sent, args, raw) => {
    const [call] = await callsOf({ index: 0, id: 'a', function: { name: 'f', arguments: sent } });
    expect(call).toEqual({ id: 'a', name: 'f', arguments: args, raw_arguments: raw });
  });
});

describe('finish reasons', () => {
  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['max_tokens', 'length'],
    ['MAX_TOKENS', 'length'],
    ['content_filter', 'content_filter'],
    ['SAFETY', 'content_filter'],
    ['end_turn', 'stop'],
    ['tool_calls', 'stop'],
    ['whatever', 'stop'],
  ])('%s without calls is %s', async (sent, reason) => {
    expect((await responseOf(delta({ content: 'a' }, sent))).finishReason).toBe(reason);
  });

  it.each([
    ['stop', 'tool_calls'],
    ['tool_calls', 'tool_calls'],
    ['function_call', 'tool_calls'],
    ['length', 'length'],
  ])('%s with calls is %s', async (sent, reason) => {
    const call = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } };
    expect((await responseOf(delta({ tool_calls: [call] }, sent))).finishReason).toBe(reason);
  });
});

describe('what a gateway tells beside the text', () => {
  it('an empty answer is an empty text', async () => {
    expect((await responseOf(DONE)).message).toEqual({
      role: 'assistant',
      content: '',
      reasoning: null,
      tool_calls: [],
    });
  });

  it('a refusal is kept', async () => {
    const { message } = await responseOf(delta({ refusal: 'I can' }), delta({ refusal: 'not' }), DONE);
    expect(message.refusal).toBe('I cannot');
  });

  it('reasoning that comes in two fields at once is taken once', async () => {
    const both = delta({ reasoning: 'hm', reasoning_content: 'hm' });
    expect((await responseOf(both, both, DONE)).message).toMatchObject({
      reasoning: 'hmhm',
      extra: { reasoning_field: 'reasoning_content' },
    });
  });

  it('reasoning and text may be parts of a list', async () => {
    const parts = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'yes' },
    ];
    expect((await responseOf(delta({ content: parts }), DONE)).message).toMatchObject({
      reasoning: 'hm',
      content: 'yes',
    });
  });

  it('usage is that of the last chunk that has one, wherever cached tokens stand, and costs nothing known', async () => {
    const { usage } = await responseOf(
      { ...delta({ content: 'a' }), usage: { prompt_tokens: 1, completion_tokens: 1 } },
      DONE,
      {
        choices: [],
        usage: { prompt_tokens: 8, completion_tokens: 2, prompt_cache_hit_tokens: 5, total_tokens: null },
      },
    );
    expect(usage).toEqual({
      prompt_tokens: 8,
      completion_tokens: 2,
      total_tokens: 10,
      cached_tokens: 5,
      reasoning_tokens: 0,
      cost_usd: null,
    });
  });

  it('a cost of 0 is told as 0', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, cost: 0 };
    expect((await responseOf(DONE, { choices: [], usage })).usage.cost_usd).toBe(0);
  });

  it('only the first of several choices counts', async () => {
    const second = { choices: [{ index: 1, delta: { content: 'no' }, finish_reason: null }] };
    expect((await responseOf(second, delta({ content: 'yes' }), DONE)).message.content).toBe('yes');
  });

  it.each([
    [
      'vLLM, response and choice',
      [
        {
          prompt_token_ids: [1, 2],
          choices: [
            { index: 0, delta: { content: 'a' }, token_ids: [3], logprobs: { content: [{ token: 'a', logprob: -1 }] } },
          ],
        },
        {
          choices: [
            {
              index: 0,
              delta: { content: 'b' },
              finish_reason: 'stop',
              token_ids: [4],
              logprobs: { content: [{ token: 'b', logprob: -2 }] },
            },
          ],
        },
      ],
      [
        { token: 'a', logprob: -1 },
        { token: 'b', logprob: -2 },
      ],
    ],
    [
      'choice alone',
      [
        {
          choices: [
            { index: 0, delta: { content: 'ab' }, finish_reason: 'stop', prompt_token_ids: [1, 2], token_ids: [3, 4] },
          ],
        },
      ],
      null,
    ],
    [
      'NeMo, message',
      [
        {
          choices: [
            {
              index: 0,
              message: {
                content: 'ab',
                prompt_token_ids: [1, 2],
                generation_token_ids: [3, 4],
                generation_log_probs: [-1, -2],
              },
              finish_reason: 'stop',
            },
          ],
        },
      ],
      [-1, -2],
    ],
  ])('token ids and log probabilities: %s', async (_, chunks, logprobs) => {
    const response = await responseOf(...chunks);
    expect(response.tokenIds).toEqual({ prompt: [1, 2], completion: [3, 4] });
    expect(response.logprobs).toEqual(logprobs === null ? null : { content: logprobs, refusal: null });
    expect(response.message.extra).toBeUndefined();
  });

  it('chunks that are no objects or hold nothing are passed over', async () => {
    expect(
      (await responseOf(null, 'x', {}, { choices: [] }, { choices: [{ index: 0 }] }, delta({ content: 'a' }), DONE))
        .message.content,
    ).toBe('a');
  });
});
