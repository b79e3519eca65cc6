import { image, ToolError } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { compileSchema } from '../../../src/environment/authoring/schema/schema.ts';
import { isToolError, toToolResult } from '../../../src/environment/authoring/tool-result.ts';

const text = (value: string) => ({ content: [{ type: 'text', text: value }] });

describe('what a handler returns', () => {
  it.each([
    ['hello', text('hello')],
    ['', text('')],
    [3.5, text('3.5')],
    [false, text('false')],
    [undefined, { content: [] }],
    [null, { content: [] }],
    [{ count: 1 }, { ...text('{"count":1}'), structuredContent: { count: 1 } }],
    [
      { type: 'text', text: 'a record' },
      { ...text('{"type":"text","text":"a record"}'), structuredContent: { type: 'text', text: 'a record' } },
    ],
    [[1, 'two'], { ...text('[1,"two"]'), structuredContent: [1, 'two'] }],
    [[], { ...text('[]'), structuredContent: [] }],
    [
      [{ type: 'text', text: 'a' }, { type: 'note' }],
      {
        ...text('[{"type":"text","text":"a"},{"type":"note"}]'),
        structuredContent: [{ type: 'text', text: 'a' }, { type: 'note' }],
      },
    ],
    [new Date(0), text('"1970-01-01T00:00:00.000Z"')],
  ])('%j becomes a tool result', async (returned, expected) => {
    expect(await toToolResult(returned)).toEqual(expected);
  });

  it('that is an array of content blocks is those', async () => {
    const blocks = [
      { type: 'text', text: 'a' },
      { type: 'image', data: 'AQI=', mimeType: 'image/png' },
      { type: 'audio', data: 'AQI=', mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'notes://1', text: 'n' } },
      { type: 'resource_link', uri: 'notes://1', name: 'note' },
    ];
    expect(await toToolResult(blocks)).toEqual({ content: blocks });
  });

  it('that is an image is one, alone and in an array', async () => {
    const picture = image(new Uint8Array([1, 2]), 'image/png');
    const block = { type: 'image', data: 'AQI=', mimeType: 'image/png' };
    expect(await toToolResult(picture)).toEqual({ content: [block] });
    expect(await toToolResult([picture, { type: 'text', text: 'a' }])).toEqual({
      content: [block, { type: 'text', text: 'a' }],
    });
    expect(() => image('AQI=', 'png')).toThrow('such as image/png, got "png"');
  });

  it.each([
    [new Map([['a', 1]]), 'cannot return a Map'],
    [new Set([1]), 'cannot return a Set'],
    [new TypeError('not thrown'), 'cannot return a TypeError'],
    [() => 1, 'cannot return a function'],
    [1n, 'cannot return a bigint'],
    [{ n: 1n }, 'a value that JSON cannot hold'],
  ])('cannot be %s', async (returned, message) => {
    await expect((async () => toToolResult(returned))()).rejects.toThrow(message);
  });

  it('goes through the schema of `returns`', async () => {
    const output = compileSchema(z.object({ count: z.number(), unit: z.string().default('m') }), 'returns', {
      side: 'output',
    });
    expect(await toToolResult({ count: 1, secret: 'x' }, output)).toEqual({
      ...text('{"count":1,"unit":"m"}'),
      structuredContent: { count: 1, unit: 'm' },
    });
    await expect(toToolResult({ count: 'one' }, output)).rejects.toThrow(
      'does not allow: count: expected number, got "one"',
    );
    await expect(toToolResult(undefined, output)).rejects.toThrow('does not allow');
  });
});

describe('a ToolError', () => {
  it('is known in whichever copy of the package it was made', () => {
    expect(isToolError(new ToolError('No such order'))).toBe(true);
    const ofAnotherCopy = Object.assign(new Error('x'), { [Symbol.for('proctor.tool-error')]: true });
    expect(isToolError(ofAnotherCopy)).toBe(true);
    expect(isToolError(new Error('secret'))).toBe(false);
    expect(isToolError({ message: 'x' })).toBe(false);
  });

  it('keeps its cause', () => {
    const cause = new Error('disk');
    expect(new ToolError('Cannot save', { cause }).cause).toBe(cause);
  });
});
