import type { HiddenTest, Json } from '../grading/hidden-test.ts';
import type { CodingTask } from './coding-task.ts';

const README = `# separated

\`parse(text)\` reads comma-separated values and gives a list of rows, each a list of texts.

- Rows end with \`\\n\` or \`\\r\\n\`; the last one may do without.
- A field may be in double quotes. Then it may hold commas, line ends, and quotes that are written twice: \`""\`.
- An empty field is the empty text, at the end of a row too. The empty text has no rows.
- Quotes that are not closed are a \`SyntaxError\`.
`;

const BROKEN = `/**
 * @param {string} text
 * @returns {string[][]}
 */
export function parse(text) {
  const rows = [];
  let row = [];
  let field = '';
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      isQuoted = !isQuoted;
    } else if (character === ',' && !isQuoted) {
      row.push(field);
      field = '';
    } else if (character === '\\n' && !isQuoted) {
      row.push(field);
      rows.push(row);
      row = [];
      field = '';
    } else {
      field += character;
    }
  }
  if (field !== '') {
    row.push(field);
    rows.push(row);
  }
  return rows;
}
`;

const QUOTE = `    if (character === '"') {
      isQuoted = !isQuoted;
    } else if`;

const MENDED_QUOTE = `    if (character === '"' && isQuoted && text[at + 1] === '"') {
      field += '"';
      at += 1;
    } else if (character === '"') {
      isQuoted = !isQuoted;
    } else if (character === '\\r' && text[at + 1] === '\\n' && !isQuoted) {
      continue;
    } else if`;

const END = `  if (field !== '') {
    row.push(field);`;

const MENDED_END = `  if (isQuoted) throw new SyntaxError('A quoted field is not closed');
  if (text !== '' && !text.endsWith('\\n')) {
    row.push(field);`;

const VISIBLE = `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from '../src/separated.js';

test('reads rows and fields', () => {
  assert.deepEqual(parse('a,b\\nc,d\\n'), [['a', 'b'], ['c', 'd']]);
});

test('reads quotes that are written twice', () => {
  assert.deepEqual(parse('"say ""so""",b\\n'), [['say "so"', 'b']]);
});
`;

function parses(name: string, text: string, gives: Json): HiddenTest {
  return { name, steps: [{ call: 'parse', args: [text], gives }] };
}

/** A reader of comma-separated values with four omissions. */
export const separated: CodingTask = {
  id: 'separated',
  request: 'The module src/separated.js does not do all that README.md says. Find out what is missing and mend it.',
  files: {
    'package.json': '{ "name": "separated", "type": "module", "private": true }\n',
    'README.md': README,
    'src/separated.js': BROKEN,
  },
  visibleTests: { 'test/separated.test.js': VISIBLE },
  module: 'src/separated.js',
  hiddenTests: [
    parses('reads a field that is one quote', '""""\n', [['"']]),
    parses('reads quotes between other characters', 'x,"a ""b"" c"\n', [['x', 'a "b" c']]),
    parses('ends rows with a carriage return too', 'a,b\r\nc,d\r\n', [
      ['a', 'b'],
      ['c', 'd'],
    ]),
    parses('keeps an empty field at the end of the text', 'a,', [['a', '']]),
    parses('keeps empty fields alone', ',', [['', '']]),
    { name: 'refuses quotes that are not closed', steps: [{ call: 'parse', args: ['a,"b\n'], throws: 'SyntaxError' }] },
    { ...parses('gives no rows for the empty text', '', []), isGuard: true },
    { ...parses('keeps commas and line ends in quotes', '"a,b","c\nd"\n', [['a,b', 'c\nd']]), isGuard: true },
    {
      ...parses('does without a line end at the end', 'a,b\nc,d', [
        ['a', 'b'],
        ['c', 'd'],
      ]),
      isGuard: true,
    },
  ],
  solution: [
    { name: 'read_file', arguments: { path: 'src/separated.js' } },
    { name: 'edit_file', arguments: { path: 'src/separated.js', old_text: QUOTE, new_text: MENDED_QUOTE } },
    { name: 'edit_file', arguments: { path: 'src/separated.js', old_text: END, new_text: MENDED_END } },
    { name: 'run_command', arguments: { command: 'node --test' } },
  ],
};
