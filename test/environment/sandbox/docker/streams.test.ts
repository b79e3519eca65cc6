import { describe, expect, it } from 'vitest';
import { FrameSplitter } from '../../../../src/environment/sandbox/docker/frames.ts';
import { MessageFilter } from '../../../../src/environment/sandbox/docker/messages.ts';
import { compare, negotiate } from '../../../../src/environment/sandbox/docker/version.ts';

function filter(chunks: readonly string[]) {
  const words: string[] = [];
  let output = '';
  const filtering = new MessageFilter(
    'secret',
    (each) => words.push(each),
    (bytes) => {
      output += bytes.toString('latin1');
    },
  );
  for (const chunk of chunks) filtering.push(Buffer.from(chunk, 'latin1'));
  filtering.end();
  return { words, output };
}

describe('messages of the wrapper', () => {
  const whole = 'before\x1esecret ended 3\nafter\x1e\x1esecret ended\n';

  it('are taken out of the output, wherever it is cut', () => {
    for (let at = 0; at <= whole.length; at += 1) {
      const { words, output } = filter([whole.slice(0, at), whole.slice(at)]);
      expect(words).toEqual(['ended 3', 'ended']);
      expect(output).toBe('beforeafter\x1e');
    }
    expect(filter([...whole])).toEqual({ words: ['ended 3', 'ended'], output: 'beforeafter\x1e' });
  });

  it('are output if their secret is wrong, or they have no end', () => {
    for (const text of ['\x1eguess ended 0\n', '\x1esecre', `\x1esecret ${'x'.repeat(200)}`]) {
      expect(filter([text])).toEqual({ words: [], output: text });
    }
  });
});

describe('frames', () => {
  it('of an unknown stream are refused', () => {
    expect(() => new FrameSplitter(() => {}).push(Buffer.from('HTTP/1.1'))).toThrow(RangeError);
  });

  it('pass on their payloads without a copy', () => {
    const chunk = Buffer.concat([Buffer.of(2, 0, 0, 0, 0, 0, 0, 3), Buffer.from('abc')]);
    const found: [string, Buffer][] = [];
    new FrameSplitter((stream, bytes) => found.push([stream, bytes])).push(chunk);
    expect(found[0]?.[0]).toBe('stderr');
    expect(found[0]?.[1].buffer).toBe(chunk.buffer);
  });
});

describe('versions of the API', () => {
  it('are numbers with dots', () => {
    expect(compare('1.9', '1.10')).toBeLessThan(0);
    expect(compare('1.44', '1.44')).toBe(0);
  });

  it('are the newest that both sides speak', () => {
    const of = (ApiVersion: string, MinAPIVersion?: string) =>
      negotiate({ Version: '1', ApiVersion, MinAPIVersion }).api;
    expect(of('1.41', '1.12')).toBe('1.41');
    expect(of('1.56', '1.44')).toBe('1.44');
    expect(of('1.60', '1.50')).toBe('1.50');
    expect(() => of('1.30')).toThrow('1.40');
  });
});
