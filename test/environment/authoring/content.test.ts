import { audio, EnvironmentServer, embeddedResource, image, resourceLink } from 'proctor';
import { describe, expect, it } from 'vitest';
import { connectInMemory } from '../server/clients.ts';

const BYTES = new Uint8Array([104, 105]);
const annotations = { audience: ['user'], priority: 0.5, lastModified: '2026-01-01T00:00:00Z' } as const;

describe('a content block', () => {
  it('is made of base64 or of bytes, of a part of a buffer too', () => {
    const part = new Uint8Array([0, 104, 105, 0]).subarray(1, 3);
    for (const data of ['aGk=', BYTES, part]) {
      expect(image(data, 'image/png')).toEqual({ type: 'image', data: 'aGk=', mimeType: 'image/png' });
      expect(audio(data, 'audio/wav')).toEqual({ type: 'audio', data: 'aGk=', mimeType: 'audio/wav' });
    }
    const options = { mimeType: 'application/x-hi', annotations };
    expect(embeddedResource('a://b', part, options)).toEqual({
      type: 'resource',
      resource: { uri: 'a://b', mimeType: 'application/x-hi', blob: 'aGk=' },
      annotations,
    });
    expect(embeddedResource('a://b', 'hi').resource).toEqual({ uri: 'a://b', mimeType: 'text/plain', text: 'hi' });
  });

  it('of the wrong kind of bytes is refused', () => {
    expect(() => image('aGk=', 'audio/wav')).toThrow('image() takes the MIME type of an image');
    expect(() => audio('aGk=', 'image/png')).toThrow('audio() takes the MIME type of a sound');
  });

  it.each([
    ['an image', () => image(BYTES, 'image/png', { annotations })],
    ['a sound', () => audio(BYTES, 'audio/wav', { annotations })],
    ['an embedded resource', () => embeddedResource('a://b', 'text', { annotations })],
    [
      'a link',
      () => resourceLink('a://b', 'b', { title: 'B', description: 'Of a.', mimeType: 'text/plain', annotations }),
    ],
  ])('that is %s comes out of a tool as it was made, alone and in a list', async (_what, make) => {
    const env = () =>
      new EnvironmentServer({ name: 'e' }).tool('alone', {}, () => make()).tool('listed', {}, () => [make(), make()]);
    const client = await connectInMemory(env);
    const block = { ...make() };
    expect(block).toHaveProperty('annotations', annotations);
    expect((await client.callTool({ name: 'alone' })).content).toEqual([block]);
    expect((await client.callTool({ name: 'listed' })).content).toEqual([block, block]);
  });

  it('of every kind may stand in an MCP prompt, alone or among others', async () => {
    const blocks = [image(BYTES, 'image/png'), audio(BYTES, 'audio/wav'), resourceLink('a://b', 'b')];
    const env = () =>
      new EnvironmentServer({ name: 'e' }).prompt('p', {}, () => [
        { role: 'user', content: embeddedResource('a://b', 'text') },
        { role: 'assistant', content: blocks },
      ]);
    const client = await connectInMemory(env);
    const { messages } = await client.getPrompt({ name: 'p' });
    expect(messages).toEqual([
      { role: 'user', content: { ...embeddedResource('a://b', 'text') } },
      ...blocks.map((content) => ({ role: 'assistant', content: { ...content } })),
    ]);
  });
});

describe('a tool', () => {
  it('is listed with its annotations, icons and _meta', async () => {
    const config = {
      title: 'Look',
      description: 'Looks.',
      annotations: { readOnlyHint: true, openWorldHint: false },
      icons: [{ src: 'https://example.com/icon.png', mimeType: 'image/png', sizes: ['48x48'] }],
      meta: { 'example.com/group': 'sight' },
    } as const;
    const client = await connectInMemory(() => new EnvironmentServer({ name: 'e' }).tool('look', config, () => ''));
    const { meta, ...listed } = config;
    expect((await client.listTools()).tools[0]).toMatchObject({ name: 'look', ...listed, _meta: meta });
  });
});
