// Holds the part of the plain words that a check can hold: `npm run check:words`. It counts comments in `src` whose first
// word stands in place of a noun, and long sentences in the README and in `docs`. Neither count may rise above its limit in
// scripts/words/limits.json. `-- --lower` writes smaller counts down as the new limits; `-- --list` prints every offender.
// `-- --root <folder>` checks another folder.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findComments } from './words/comments.mjs';
import { findSentences } from './words/sentences.mjs';

const LONGEST_SENTENCE = 200;
const FIRST_WORDS = /^(What|Of|Who|Whom|Whose|Whoever|Whatever|Whichever|Nobody)\b/;

const { values: options } = parseArgs({
  options: { root: { type: 'string' }, lower: { type: 'boolean' }, list: { type: 'boolean' } },
});
const root = options.root ?? fileURLToPath(new URL('..', import.meta.url));
const limitsPath = join(root, 'scripts/words/limits.json');
const limits = existsSync(limitsPath) ? JSON.parse(readFileSync(limitsPath, 'utf8')) : { comments: 0, sentences: 0 };

const found = {
  comments: offenders(filesIn('src', /\.tsx?$/), findComments, ({ text }) => FIRST_WORDS.test(text)),
  sentences: offenders(
    ['README.md', ...filesIn('docs', /\.md$/)],
    findSentences,
    ({ text }) => text.length > LONGEST_SENTENCE,
  ),
};
const rules = {
  comments: 'comments in src that begin with What, Of, Who, Whoever, Whatever or Nobody',
  sentences: `sentences of more than ${LONGEST_SENTENCE} characters in README.md and docs/`,
};

for (const [name, places] of Object.entries(found)) report(name, places);
if (options.lower) {
  const lowered = Object.fromEntries(
    Object.keys(found).map((name) => [name, Math.min(limits[name], found[name].length)]),
  );
  writeFileSync(limitsPath, `${JSON.stringify(lowered, null, 2)}\n`);
}

function report(name, places) {
  const isOver = places.length > limits[name];
  const line = `${places.length} ${rules[name]}; the limit is ${limits[name]}.`;
  if (isOver || options.list)
    for (const { path, line, text } of places) console.log(`${path}:${line}: ${shorten(text)}`);
  if (isOver) {
    process.exitCode = 1;
    console.error(`${line} Say it in plain words: a noun first, one thought in a sentence.`);
  } else if (places.length < limits[name] && !options.lower) {
    console.log(`${line} Write the smaller number down: npm run check:words -- --lower`);
  } else {
    console.log(line);
  }
}

function filesIn(folder, pattern) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((path) => pattern.test(path) && !path.includes('node_modules'))
    .map((path) => `${folder}/${path}`)
    .sort();
}

function offenders(paths, find, isOffender) {
  return paths.flatMap((path) =>
    find(readFileSync(join(root, path), 'utf8'))
      .filter(isOffender)
      .map((place) => ({ path, ...place })),
  );
}

function shorten(text) {
  const line = text.replace(/\s+/g, ' ');
  return line.length <= 100 ? line : `${line.slice(0, 99)}…`;
}
