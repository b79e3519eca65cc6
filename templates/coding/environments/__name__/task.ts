/** What the agent finds in its working directory. */
export const FILES = {
  'README.md': `# slug

\`slug(text)\` makes a part of an address out of a title: lower case, with "-" for whatever is neither a letter from a to z
nor a digit. It never has two "-" in a row, and none at its ends.

    slug('Hello, World!')  // hello-world

\`node --test\` runs the tests.
`,
  'package.json': '{ "name": "slug", "type": "module" }\n',
  'slug.js': `export function slug(text) {
  return text.toLowerCase().replace(' ', '-');
}
`,
  'slug.test.js': `import assert from 'node:assert';
import { test } from 'node:test';
import { slug } from './slug.js';

test('a title', () => {
  assert.equal(slug('Hello, World!'), 'hello-world');
});
`,
} as const;

/** A program that does what the README says. Only the solution shows it. */
export const REPAIRED = `export function slug(text) {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '');
}
`;

/** What the program is graded with. It stays in this process: the program is given the texts alone. */
export const CASES: readonly (readonly [text: string, slug: string])[] = [
  ['Hello, World!', 'hello-world'],
  ['one two three', 'one-two-three'],
  ['  Room 101  ', 'room-101'],
  ['a -- b', 'a-b'],
  ['!', ''],
];
