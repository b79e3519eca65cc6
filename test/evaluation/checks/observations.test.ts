import { describe, expect, it } from 'vitest';
import { createObservations } from '../../../src/evaluation/replays/snapshots.ts';

const result = (structured: object | null, text = JSON.stringify(structured), is_error = false) => ({
  content: [{ type: 'text' as const, text }],
  structured_content: structured as never,
  is_error,
});

describe('observations', () => {
  it('are compared by their JSON, whatever the order of names', () => {
    const { sameResult } = createObservations();
    expect(sameResult('look', result({ a: 1, b: 2 }, ''), result({ b: 2, a: 1 }, ''))).toBe(true);
    expect(sameResult('look', result({ a: 1 }, ''), result({ a: 2 }, ''))).toBe(false);
    expect(sameResult('look', result(null, 'one'), result(null, 'two'))).toBe(false);
  });

  it('of a volatile tool are compared by their errors alone', () => {
    const { sameResult } = createObservations(['now*']);
    expect(sameResult('now_utc', result(null, 'one'), result(null, 'two'))).toBe(true);
    expect(sameResult('now_utc', result(null, 'one'), result(null, 'one', true))).toBe(false);
    expect(sameResult('look', result(null, 'one'), result(null, 'two'))).toBe(false);
  });

  it('take any pattern of a foreign server, at once', () => {
    const name = 'a'.repeat(64);
    const differ = (...volatile: (string | { tool: string; path: string })[]) =>
      !createObservations(volatile).sameResult(name, result({ a: 1 }), result({ a: 2 }));
    expect(differ(`${'*a'.repeat(30)}*b`, '', '(', '[a', 'a{64}', '.*', 'a*b*a')).toBe(true);
    expect(
      differ({ tool: `${'*a'.repeat(30)}*b`, path: 'a' }, { tool: '*', path: '' }, { tool: '*', path: 'b.*' }),
    ).toBe(true);
    expect([differ(`${'*a'.repeat(30)}*`), differ('**'), differ({ tool: '*', path: '*' })]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('leave a volatile field out, and compare the rest', () => {
    const { sameResult } = createObservations([{ tool: 'orders', path: 'orders.*.at' }]);
    const orders = (at: number, id: number) =>
      result({
        orders: [
          { id: 1, at: 0 },
          { id, at },
        ],
      });
    expect(sameResult('orders', orders(1, 2), orders(9, 2))).toBe(true);
    expect(sameResult('orders', orders(1, 2), orders(1, 3))).toBe(false);
    expect(sameResult('other', orders(1, 2), orders(9, 2))).toBe(false);
  });

  it('of prompt and tools are volatile by those words', () => {
    const prompts = (content: string) => [{ role: 'user' as const, content }];
    const tools = (description: string) => [{ name: 'look', description, input_schema: { type: 'object' } }];
    expect(createObservations().samePrompt(prompts('a'), prompts('b'))).toBe(false);
    expect(createObservations(['prompt']).samePrompt(prompts('a'), prompts('b'))).toBe(true);
    expect(createObservations(['prompt']).sameTools(tools('a'), tools('b'))).toBe(false);
    expect(createObservations(['tools']).sameTools(tools('a'), tools('b'))).toBe(true);
  });
});
