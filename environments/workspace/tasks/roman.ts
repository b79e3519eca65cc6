import type { HiddenTest } from '../grading/hidden-test.ts';
import type { CodingTask } from './coding-task.ts';

const SPECIFICATION = `# roman

Write \`src/roman.js\`, an ES module that exports two functions for Roman numerals from 1 to 3999.

- \`toRoman(number)\` gives the numeral in capitals: \`4\` is \`IV\`, \`1994\` is \`MCMXCIV\`. What is no whole number from 1 to 3999 is a \`RangeError\`.
- \`fromRoman(text)\` gives the number. Small letters are read like capitals. A text that \`toRoman\` would not give, \`IIII\` and \`IC\` among them, is a \`SyntaxError\`.
`;

const START = `export function toRoman(number) {
  throw new Error('not written yet');
}

export function fromRoman(text) {
  throw new Error('not written yet');
}
`;

const WRITTEN = `const NUMERALS = [
  ['M', 1000], ['CM', 900], ['D', 500], ['CD', 400],
  ['C', 100], ['XC', 90], ['L', 50], ['XL', 40],
  ['X', 10], ['IX', 9], ['V', 5], ['IV', 4], ['I', 1],
];

export function toRoman(number) {
  if (!Number.isInteger(number) || number < 1 || number > 3999) throw new RangeError(\`no numeral: \${number}\`);
  let rest = number;
  let text = '';
  for (const [numeral, value] of NUMERALS) {
    for (; rest >= value; rest -= value) text += numeral;
  }
  return text;
}

export function fromRoman(text) {
  const capitals = String(text).toUpperCase();
  let number = 0;
  let at = 0;
  for (const [numeral, value] of NUMERALS) {
    for (; capitals.startsWith(numeral, at); at += numeral.length) number += value;
  }
  if (number < 1 || number > 3999 || toRoman(number) !== capitals) throw new SyntaxError(\`no numeral: \${text}\`);
  return number;
}
`;

const VISIBLE = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromRoman, toRoman } from '../src/roman.js';

test('writes numerals', () => {
  assert.equal(toRoman(4), 'IV');
  assert.equal(toRoman(1994), 'MCMXCIV');
});

test('reads numerals', () => {
  assert.equal(fromRoman('MCMXCIV'), 1994);
});
`;

function writes(name: string, ...pairs: readonly (readonly [number, string])[]): HiddenTest {
  return { name, steps: pairs.map(([number, gives]) => ({ call: 'toRoman', args: [number], gives })) };
}

function reads(name: string, ...pairs: readonly (readonly [string, number])[]): HiddenTest {
  return { name, steps: pairs.map(([text, gives]) => ({ call: 'fromRoman', args: [text], gives })) };
}

function refuses(name: string, ...texts: readonly string[]): HiddenTest {
  return { name, steps: texts.map((text) => ({ call: 'fromRoman', args: [text], throws: 'SyntaxError' })) };
}

/** Two functions to a written specification, each of which has to refuse what the other one never gives. */
export const roman: CodingTask = {
  id: 'roman',
  request: 'Write the module that SPECIFICATION.md describes.',
  files: {
    'package.json': '{ "name": "roman", "type": "module", "private": true }\n',
    'SPECIFICATION.md': SPECIFICATION,
    'src/roman.js': START,
  },
  visibleTests: { 'test/roman.test.js': VISIBLE },
  module: 'src/roman.js',
  hiddenTests: [
    writes('writes what is added up', [1, 'I'], [3, 'III'], [8, 'VIII'], [2026, 'MMXXVI']),
    writes('writes what is taken away', [9, 'IX'], [40, 'XL'], [90, 'XC'], [400, 'CD'], [949, 'CMXLIX']),
    writes('writes the largest numeral', [3999, 'MMMCMXCIX']),
    {
      name: 'refuses numbers that have no numeral',
      steps: [0, -1, 4000, 1.5, '7', null].map((given) => ({ call: 'toRoman', args: [given], throws: 'RangeError' })),
    },
    reads('reads what is added up', ['I', 1], ['MDCLXVI', 1666]),
    reads('reads what is taken away', ['CDXLIV', 444], ['XCIX', 99]),
    reads('reads small letters', ['mmxxvi', 2026], ['Iv', 4]),
    refuses('refuses what is repeated too often', 'IIII', 'VV', 'MMMM', 'XXXX'),
    refuses('refuses what is in no order', 'IC', 'IIX', 'VX', 'IVI', 'IXX'),
    refuses('refuses what is no numeral', '', 'A', 'X ', '12'),
  ],
  solution: [
    { name: 'read_file', arguments: { path: 'SPECIFICATION.md' } },
    { name: 'write_file', arguments: { path: 'src/roman.js', content: WRITTEN } },
    { name: 'run_command', arguments: { command: 'node --test' } },
  ],
};
