import { describe, expect, it } from 'vitest';
import { UsageError } from '../../src/cli/base/failure.ts';
import { parseScenarioArgs } from '../../src/cli/base/options.ts';
import { printable, printableLines } from '../../src/cli/base/terminal.ts';

const SCHEMA = {
  type: 'object',
  properties: { zip: { type: 'string' }, count: { type: 'integer' }, tags: { type: 'array' }, any: {} },
};

describe('the arguments of a scenario', () => {
  it.each([
    ['zip=19122', { zip: '19122' }],
    ['zip="19122"', { zip: '19122' }],
    ['zip="say \\"hi\\""', { zip: 'say "hi"' }],
    ['zip="open', { zip: '"open' }],
    ['zip=true', { zip: 'true' }],
    ['zip=', { zip: '' }],
    ['zip=a=b', { zip: 'a=b' }],
    ['count=3', { count: 3 }],
    ['count=three', { count: 'three' }],
    ['count="3"', { count: '3' }],
    ['tags=["a"]', { tags: ['a'] }],
    ['unknown=3', { unknown: '3' }],
  ])('--arg %s', (pair, expected) => {
    expect(parseScenarioArgs(undefined, [pair], SCHEMA)).toEqual(expected);
  });

  it('of --arg win over those of --args, whose values are taken as they are', () => {
    expect(parseScenarioArgs('{"zip":"1","count":2}', ['count=3'], SCHEMA)).toEqual({ zip: '1', count: 3 });
  });

  it('never reach a prototype', () => {
    for (const pair of ['__proto__="x"', '__proto__=x']) {
      const args = parseScenarioArgs(undefined, [pair, 'constructor=1'], SCHEMA);
      expect(Object.keys(args).sort()).toEqual(['__proto__', 'constructor']);
      expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
    }
  });

  it.each([[['target']], [['=3']]])('%j are refused', (pairs) => {
    expect(() => parseScenarioArgs(undefined, pairs, SCHEMA)).toThrow(UsageError);
  });
});

describe('text of others on the terminal', () => {
  it('loses what a terminal would obey or hide, and keeps what people write with', () => {
    expect(printable('a\u001b[31m\u0007\u009b\u202e\u200b b')).toBe('a\ufffd[31m\ufffd\ufffd\ufffd\ufffd b');
    expect(printable('naïve 日本語 👩‍👩‍👧 Ω')).toBe('naïve 日本語 👩‍👩‍👧 Ω');
  });

  it('is one line and cut, or all its lines', () => {
    expect(printable('a\r\n\t b')).toBe('a b');
    expect(printable('x'.repeat(200), 10)).toBe(`${'x'.repeat(9)}…`);
    expect(printableLines('a\r\nb\u001b\nc')).toBe('a\nb\ufffd\nc');
  });

  it.each([
    ['cannot read the file of orders /srv/shop/orders.json:3:7 today', 40, 'cannot read the file of orders…'],
    ['at environments/shop/environment.ts:3:7 today', 20, 'at environments/shop/environment.ts:3:7…'],
    ['failed at environment.ts:117:24', 28, 'failed at environment.ts:117:24'],
    ['see https://shop.example/docs/errors for more', 20, 'see https://shop.example/docs/errors…'],
    ['see C:\\shop\\orders.json for more', 10, 'see C:\\shop\\orders.json…'],
    ['{"path":"/srv/shop/orders.json","by":3}', 20, '{"path":"/srv/shop/orders.json…'],
    ['an ordinary sentence is cut', 12, 'an ordinary…'],
  ])('is not cut within a path or the place in a file: %j', (text, length, shown) => {
    expect(printable(text, length)).toBe(shown);
  });
});
