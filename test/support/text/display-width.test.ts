import { expect, it } from 'vitest';
import { cutToWidth, displayWidth, padToWidth } from '../../../src/support/text/display-width.ts';

it.each([
  ['abc', 3],
  ['日本', 4],
  ['e\u0301', 1],
  ['👨‍👩‍👧', 2],
  ['🇩🇪', 2],
  ['\u001b[31mred\u001b[39m', 3],
  ['', 0],
])('%j takes %i cells of a terminal', (text, cells) => {
  expect(displayWidth(text)).toBe(cells);
  expect(displayWidth(padToWidth(text, 6))).toBe(6);
});

it.each([
  ['short', 8, 'short'],
  ['a longer text', 8, 'a longe…'],
  ['日本語日本語', 6, '日本…'],
  ['ab👨‍👩‍👧cd', 4, 'ab…'],
  ['anything', 0, ''],
])('%j is cut to %i cells, never within a sign', (text, cells, shown) => {
  expect(cutToWidth(text, cells)).toBe(shown);
});
