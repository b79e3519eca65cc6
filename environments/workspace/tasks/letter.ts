import type { HiddenTest, Json } from '../grading/hidden-test.ts';
import type { CodingTask } from './coding-task.ts';

const README = `# letter

\`fill(text, values)\` puts values into the places of a letter. A place is a name in double braces: \`Dear {{name}},\`.

- Blanks between the braces and the name do not count: \`{{ name }}\`.
- A place may be there more than once. A name has letters, digits and \`_\`.
- Values are put in as they are: what looks like a place, or holds a \`$\`, stays.
- A value may be a text or a number; 0 is one. A name without a value is a \`RangeError\`; only own members of \`values\` count.
- Other braces stay as they are.

\`names(text)\` gives the names of all places, each once, in the order in which they come first.
`;

const BROKEN = `const PLACE = /\\{\\{(\\w+)\\}\\}/;

/**
 * @param {string} text
 * @param {Record<string, string | number>} values
 */
export function fill(text, values) {
  let filled = text;
  for (const name of names(text)) {
    if (!values[name]) throw new RangeError(\`There is no value for \${name}\`);
    filled = filled.replace(\`{{\${name}}}\`, values[name]);
  }
  return filled;
}

/** @param {string} text */
export function names(text) {
  const found = [];
  let rest = text;
  for (let match = PLACE.exec(rest); match !== null; match = PLACE.exec(rest)) {
    found.push(match[1]);
    rest = rest.slice(match.index + match[0].length);
  }
  return found;
}
`;

const PLACE_LINE = 'const PLACE = /\\{\\{(\\w+)\\}\\}/;';
const MENDED_PLACE = 'const PLACE = /\\{\\{\\s*(\\w+)\\s*\\}\\}/g;';

const FILLING = `  let filled = text;
  for (const name of names(text)) {
    if (!values[name]) throw new RangeError(\`There is no value for \${name}\`);
    filled = filled.replace(\`{{\${name}}}\`, values[name]);
  }
  return filled;`;
const MENDED_FILLING = `  return text.replace(PLACE, (_place, name) => {
    if (!Object.hasOwn(values, name)) throw new RangeError(\`There is no value for \${name}\`);
    return String(values[name]);
  });`;

const NAMING = `  const found = [];
  let rest = text;
  for (let match = PLACE.exec(rest); match !== null; match = PLACE.exec(rest)) {
    found.push(match[1]);
    rest = rest.slice(match.index + match[0].length);
  }
  return found;`;
const MENDED_NAMING = '  return [...new Set([...text.matchAll(PLACE)].map(([, name]) => name))];';

const VISIBLE = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fill, names } from '../src/letter.js';

test('fills a place that is there twice', () => {
  assert.equal(fill('{{name}}, dear {{name}}!', { name: 'Ada' }), 'Ada, dear Ada!');
});

test('gives each name once', () => {
  assert.deepEqual(names('{{b}} {{a}} {{b}}'), ['b', 'a']);
});
`;

function fills(name: string, text: string, values: Json, gives: string): HiddenTest {
  return { name, steps: [{ call: 'fill', args: [text, values], gives }] };
}

/** Places in a text that are filled too literally: six bugs in two functions. */
export const letter: CodingTask = {
  id: 'letter',
  request: 'The module src/letter.js does not do all that README.md says. Find out what is wrong and mend it.',
  files: {
    'package.json': '{ "name": "letter", "type": "module", "private": true }\n',
    'README.md': README,
    'src/letter.js': BROKEN,
  },
  visibleTests: { 'test/letter.test.js': VISIBLE },
  module: 'src/letter.js',
  hiddenTests: [
    fills('reads a name between blanks', 'Dear {{ name }}, {{name }}', { name: 'Ada' }, 'Dear Ada, Ada'),
    fills('takes 0 and the empty text for values', '{{count}}{{unit}}', { count: 0, unit: '' }, '0'),
    fills(
      'puts in a dollar as it is',
      'It costs {{price}}.',
      { price: "$& and $1 and $'" },
      "It costs $& and $1 and $'.",
    ),
    fills('does not fill what a value brings along', '{{a}} {{b}}', { a: '{{b}}', b: 'c' }, '{{b}} c'),
    {
      name: 'refuses a name that only the prototype has',
      steps: [{ call: 'fill', args: ['{{toString}}', {}], throws: 'RangeError' }],
    },
    {
      name: 'names each place once, in order',
      steps: [{ call: 'names', args: ['{{ b }}{{a}}{{b}}{{a_1}}'], gives: ['b', 'a', 'a_1'] }],
    },
    { ...fills('fills a place wherever it is', '{{a}}-{{b}}-{{a}}', { a: 'x', b: 'y' }, 'x-y-x'), isGuard: true },
    { ...fills('leaves other braces alone', '{a} {{}} {{a b}} }}', { a: 'x' }, '{a} {{}} {{a b}} }}'), isGuard: true },
    {
      name: 'refuses a name without a value',
      steps: [{ call: 'fill', args: ['{{name}}', { nam: 'x' }], throws: 'RangeError' }],
      isGuard: true,
    },
    {
      name: 'names nothing where no place is',
      steps: [{ call: 'names', args: ['Dear all'], gives: [] }],
      isGuard: true,
    },
  ],
  solution: [
    { name: 'read_file', arguments: { path: 'src/letter.js' } },
    { name: 'edit_file', arguments: { path: 'src/letter.js', old_text: PLACE_LINE, new_text: MENDED_PLACE } },
    { name: 'edit_file', arguments: { path: 'src/letter.js', old_text: FILLING, new_text: MENDED_FILLING } },
    { name: 'edit_file', arguments: { path: 'src/letter.js', old_text: NAMING, new_text: MENDED_NAMING } },
    { name: 'run_command', arguments: { command: 'node --test' } },
  ],
};
