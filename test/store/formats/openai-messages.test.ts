import { describe, expect, it } from 'vitest';
import type { ContentBlock, TranscriptMessage } from '../../../src/contract/chat.ts';
import { delta } from '../../gateway.ts';
import { chunkModel, DONE } from '../../models/gateway/chunk-model.ts';
import { toRequest, USER_MESSAGE } from '../../models/gateway/gateway-model.ts';

async function sent(...messages: TranscriptMessage[]): Promise<unknown> {
  const { model, bodies } = chunkModel(DONE);
  await model.respond(toRequest({ messages }));
  return bodies[0]?.messages;
}

function calls(...ids: string[]): TranscriptMessage {
  const made = ids.map((id) => ({ id, name: 'look', arguments: { at: id }, raw_arguments: null }));
  return { role: 'assistant', content: null, reasoning: null, tool_calls: made };
}

function result(id: string, content: ContentBlock[], fields: object = {}): TranscriptMessage {
  return { role: 'tool', tool_call_id: id, name: 'look', content, is_error: false, ...fields };
}

const text = (value: string): ContentBlock => ({ type: 'text', text: value });
const image = (data: string): ContentBlock => ({ type: 'image', data, mimeType: 'image/png' });
const sentCall = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: `{"at":"${id}"}` } });

describe('messages to a gateway', () => {
  it('are texts, and parts where a user sends an image', async () => {
    expect(
      await sent(
        { role: 'system', content: 'Be brief' },
        {
          role: 'developer',
          content: [
            { type: 'text', text: 'a' },
            { type: 'image', data: 'AA==', mimeType: 'image/gif' },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See' },
            { type: 'image', data: 'AA==', mimeType: 'image/png' },
          ],
        },
        { role: 'assistant', content: null, reasoning: null, tool_calls: [] },
      ),
    ).toEqual([
      { role: 'system', content: 'Be brief' },
      { role: 'developer', content: 'a\n(image/gif image)' },
      { role: 'user', content: 'a\nb' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
        ],
      },
      { role: 'assistant', content: '' },
    ]);
  });

  it('have the images of all results in one user message after all tool messages', async () => {
    expect(
      await sent(
        calls('a', 'b'),
        result('a', [text('one'), image('AA==')]),
        result('b', [{ type: 'resource', resource: { uri: 'x://y', blob: 'BB==', mimeType: 'image/jpeg' } }]),
        USER_MESSAGE,
      ),
    ).toEqual([
      { role: 'assistant', content: null, tool_calls: [sentCall('a'), sentCall('b')] },
      { role: 'tool', tool_call_id: 'a', content: 'one\n(image 1: see the message after the tool results)' },
      { role: 'tool', tool_call_id: 'b', content: '(image 2: see the message after the tool results)' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'The images that the tools returned:' },
          { type: 'text', text: 'Image 1, from look (call a):' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
          { type: 'text', text: 'Image 2, from look (call b):' },
          { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,BB==' } },
        ],
      },
      { role: 'user', content: 'Hello' },
    ]);
  });

  it('show the images of each response after its own results', async () => {
    const messages = await sent(calls('a'), result('a', [image('AA==')]), calls('b'), result('b', [image('BB==')]));
    expect((messages as { role: string }[]).map(({ role }) => role)).toEqual([
      'assistant',
      'tool',
      'user',
      'assistant',
      'tool',
      'user',
    ]);
  });

  it.each([
    ['nothing', [], {}, '(no output)'],
    ['structured content alone', [], { structured_content: { n: 1 } }, '{"n":1}'],
    ['structured content beside text', [text('n is 1')], { structured_content: { n: 1 } }, 'n is 1'],
    ['an error', [text('no such thing')], { is_error: true }, 'no such thing'],
    ['an embedded text', [{ type: 'resource', resource: { uri: 'x://y', text: 'inside' } }], {}, 'inside'],
    ['a link', [{ type: 'resource_link', uri: 'x://y', name: 'doc' }], {}, '(resource doc: x://y)'],
    [
      'bytes',
      [{ type: 'resource', resource: { uri: 'x://y', blob: 'AA==' } }],
      {},
      '(resource x://y, which is not text)',
    ],
    ['sound', [{ type: 'audio', data: 'AA==', mimeType: 'audio/wav' }], {}, '(audio content, which is not text)'],
  ])('show a tool result of %s', async (_, content, fields, shown) => {
    const messages = await sent(calls('a'), result('a', content, fields));
    expect((messages as unknown[])[1]).toEqual({ role: 'tool', tool_call_id: 'a', content: shown });
  });

  it('show the first 32 KiB of a longer tool text, whole characters alone, and say so', async () => {
    const long = `a${'ä'.repeat(20_000)}`;
    const [, message] = (await sent(calls('a'), result('a', [text(long)]))) as { content: string }[];
    expect(message?.content).toBe(`a${'ä'.repeat(16_383)}\n(cut here: these are the first 32 KiB of 40001 bytes)`);
    const [, whole] = (await sent(calls('a'), result('a', [text('a'.repeat(32_768))]))) as { content: string }[];
    expect(whole?.content).toBe('a'.repeat(32_768));
  });

  it('answer a call that has no result, so that the history is one that gateways take', async () => {
    expect(await sent(calls('a', 'b'), result('a', [text('one')]), USER_MESSAGE)).toEqual([
      { role: 'assistant', content: null, tool_calls: [sentCall('a'), sentCall('b')] },
      { role: 'tool', tool_call_id: 'a', content: 'one' },
      { role: 'tool', tool_call_id: 'b', content: '(this call was not run)' },
      { role: 'user', content: 'Hello' },
    ]);
  });

  it('never repeat arguments or names that a gateway would refuse', async () => {
    const call = { id: 'a', name: 'functions.look at', arguments: {}, raw_arguments: '{"broken' };
    const [message] = (await sent({ role: 'assistant', content: null, reasoning: null, tool_calls: [call] })) as {
      tool_calls: unknown[];
    }[];
    expect(message?.tool_calls).toEqual([
      { id: 'a', type: 'function', function: { name: 'functions_look_at', arguments: '{}' } },
    ]);
  });

  it("give a provider's own fields back as they came", async () => {
    const signature = { google: { thought_signature: 'c2ln' } };
    const chunks = [
      delta({
        reasoning: 'Let me ',
        reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'Let me ', signature: null }],
      }),
      delta({
        reasoning: 'see',
        reasoning_details: [{ type: 'reasoning.text', index: 0, text: 'see', signature: 'sig' }],
      }),
      delta({ reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'xyz' }] }),
      delta({ extra_content: { google: { thought: true } }, audio: null }),
      delta({
        tool_calls: [
          {
            index: 0,
            id: 'a',
            type: 'function',
            function: { name: 'look', arguments: '{}' },
            extra_content: signature,
          },
        ],
      }),
      DONE,
    ];
    const { message } = await chunkModel(...chunks).model.respond(toRequest());
    expect(message.reasoning).toBe('Let me see');
    const [back] = (await sent(JSON.parse(JSON.stringify(message)))) as unknown[];
    expect(back).toEqual({
      role: 'assistant',
      content: null,
      reasoning: 'Let me see',
      reasoning_details: [
        { type: 'reasoning.text', index: 0, text: 'Let me see', signature: 'sig' },
        { type: 'reasoning.encrypted', index: 1, data: 'xyz' },
      ],
      extra_content: { google: { thought: true } },
      tool_calls: [
        { id: 'a', type: 'function', function: { name: 'look', arguments: '{}' }, extra_content: signature },
      ],
    });
  });
});
