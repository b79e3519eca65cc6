import type { HiddenTest } from '../grading/hidden-test.ts';
import type { CodingTask } from './coding-task.ts';

const SPECIFICATION = `# duration

Write \`src/duration.js\`, an ES module with two functions.

\`parseDuration(text)\` gives milliseconds.

- A duration is one or more parts, each a whole number and a unit without a space between: \`90s\`, \`1h30m\`, \`2d 4h\`.
- Units are \`d\`, \`h\`, \`m\`, \`s\` and \`ms\`: days of 24 hours, hours, minutes, seconds and milliseconds. Each may come once, in this order.
- Spaces between parts, before and after them do not count.
- Anything else is a \`RangeError\`, the empty text and what is not text among it.

\`formatDuration(ms)\` gives the shortest text that \`parseDuration\` reads as so many milliseconds, without spaces: each unit
as large as it can be, parts of 0 left out, and \`0s\` for 0. A number that is negative or not whole is a \`RangeError\`.
`;

const START = `export function parseDuration(text) {
  throw new Error('not written yet');
}

export function formatDuration(ms) {
  throw new Error('not written yet');
}
`;

const WRITTEN = `const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };
const SHAPE = /^\\s*(?:(\\d+)d)?\\s*(?:(\\d+)h)?\\s*(?:(\\d+)m(?!s))?\\s*(?:(\\d+)s)?\\s*(?:(\\d+)ms)?\\s*$/;

export function parseDuration(text) {
  const parts = typeof text === 'string' ? SHAPE.exec(text)?.slice(1) : undefined;
  if (parts === undefined || parts.every((part) => part === undefined)) {
    throw new RangeError(\`not a duration: \${String(text)}\`);
  }
  return Object.values(UNITS).reduce((sum, size, index) => sum + size * Number(parts[index] ?? 0), 0);
}

export function formatDuration(ms) {
  if (!Number.isInteger(ms) || ms < 0) throw new RangeError(\`not a duration: \${ms}\`);
  let left = ms;
  let text = '';
  for (const [unit, size] of Object.entries(UNITS)) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) text += \`\${count}\${unit}\`;
  }
  return text === '' ? '0s' : text;
}
`;

const VISIBLE = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatDuration, parseDuration } from '../src/duration.js';

test('reads a duration', () => {
  assert.equal(parseDuration('1h30m'), 5_400_000);
});

test('refuses what is none', () => {
  assert.throws(() => parseDuration('soon'), RangeError);
});

test('writes a duration', () => {
  assert.equal(formatDuration(90_000), '1m30s');
});
`;

function reads(name: string, text: string, gives: number): HiddenTest {
  return { name, steps: [{ call: 'parseDuration', args: [text], gives }] };
}

function refuses(name: string, ...given: readonly (string | number | null)[]): HiddenTest {
  return { name, steps: given.map((each) => ({ call: 'parseDuration', args: [each], throws: 'RangeError' })) };
}

function writes(name: string, ...pairs: readonly (readonly [number, string])[]): HiddenTest {
  return { name, steps: pairs.map(([ms, text]) => ({ call: 'formatDuration', args: [ms], gives: text })) };
}

/** Two functions to a written specification. */
export const duration: CodingTask = {
  id: 'duration',
  request: 'Write the module that SPECIFICATION.md describes.',
  files: {
    'package.json': '{ "name": "duration", "type": "module", "private": true }\n',
    'SPECIFICATION.md': SPECIFICATION,
    'src/duration.js': START,
  },
  visibleTests: { 'test/duration.test.js': VISIBLE },
  module: 'src/duration.js',
  hiddenTests: [
    reads('reads one part', '45m', 2_700_000),
    reads('reads every unit', '1d2h3m4s5ms', 93_784_005),
    reads('tells milliseconds from minutes', '250ms', 250),
    reads('reads parts with spaces between and around them', '  2d   4h ', 187_200_000),
    reads('reads more than a unit usually holds', '90m100s', 5_500_000),
    refuses('refuses what has no parts', '', '   ', 'h', '12'),
    refuses('refuses parts out of order or twice', '30m1h', '1h1h', '1s1m'),
    refuses('refuses signs, fractions, other units and spaces within a part', '-1h', '1.5h', '1w', '1 h', '1h,2m'),
    refuses('refuses what is not text', 5, null),
    writes(
      'writes the largest units first and leaves out zeros',
      [86_400_000, '1d'],
      [93_784_005, '1d2h3m4s5ms'],
      [60_001, '1m1ms'],
    ),
    writes('writes nothing as no seconds', [0, '0s']),
    {
      name: 'refuses to write what is no duration',
      steps: [-1, 0.5].map((ms) => ({ call: 'formatDuration', args: [ms], throws: 'RangeError' })),
    },
  ],
  solution: [
    { name: 'read_file', arguments: { path: 'SPECIFICATION.md' } },
    { name: 'write_file', arguments: { path: 'src/duration.js', content: WRITTEN } },
    { name: 'run_command', arguments: { command: 'node --test' } },
  ],
};
