import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PATIENCE } from '../cli/command.ts';
import { blocksOf, createFolder, listDocuments, ROOT, read, typeErrors } from './documents.ts';

/** Documents whose blocks are whole files, written to disk and run by a test of their own. */
const RUN_AS_THEY_STAND: Readonly<Record<string, { readonly test: string; readonly blocks: number }>> = {
  'README.md': { test: 'test/docs/readme.test.ts', blocks: 1 },
  'docs/quickstart.md': { test: 'test/docs/readme.test.ts', blocks: 2 },
  'docs/composition.md': { test: 'test/environment/composition/guide.test.ts', blocks: 1 },
};

const examples = listFiles('docs/examples');
const sources = [...examples, ...listFiles('templates'), ...listFiles('environments')];
const excerpting = listDocuments().filter(
  (document) => !(document in RUN_AS_THEY_STAND) && blocksOf(document, 'ts').length > 0,
);

describe.each(excerpting)('every block of %s', (document) => {
  it.each(blocksOf(document, 'ts').map((block, index) => ({ number: index + 1, block })))(
    'is part of a file that is compiled and run: block $number',
    ({ block }) => {
      expect(sources.some((path) => contains(read(path), block)) ? '' : block).toBe('');
    },
  );
});

it.each(listFiles('src').flatMap(docstringExamples))(
  'the @example $number of $path is part of a file that is compiled and run',
  ({ block }) => {
    expect(sources.some((path) => contains(read(path), block)) ? '' : block).toBe('');
  },
);

it.each(Object.entries(RUN_AS_THEY_STAND))('%s is run by $test', (document, { test, blocks }) => {
  expect(blocksOf(document, 'ts')).toHaveLength(blocks);
  expect(read(test)).toContain(document);
});

it.each(examples)('%s is shown in a document, and run', (path) => {
  const blocks = excerpting.flatMap((document) => blocksOf(document, 'ts'));
  expect(blocks.filter((block) => contains(read(path), block))).not.toEqual([]);
  const tests = [...listFiles('test/docs'), ...examples].filter((file) => file.endsWith('.test.ts'));
  const file = path.replace('docs/examples/', '');
  expect(tests.filter((test) => test === path || read(test).includes(`/${file}'`))).not.toEqual([]);
});

it('the examples have the right types, by the settings that the rest of the repository has', PATIENCE, async () => {
  const directory = createFolder();
  expect(await typeErrors(directory, [relative(directory, join(ROOT, 'docs/examples'))])).toBe('');
});

/** The TypeScript files below a folder. */
function listFiles(folder: string): readonly string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.includes('node_modules'))
    .map((path) => `${folder}/${path}`);
}

/** The blocks of code in the docstrings of a file. */
function docstringExamples(
  path: string,
): readonly { readonly path: string; readonly number: number; readonly block: string }[] {
  const blocks = [...read(path).matchAll(/^ *\* @example\n *\* ```ts\n((?: *\*.*\n)*?) *\* ```$/gm)];
  return blocks.map(([, lines = ''], index) => ({ path, number: index + 1, block: lines.replace(/^ *\* ?/gm, '') }));
}

/** True when the file has the code of the block in one piece, and imports what the block does. */
function contains(file: string, block: string): boolean {
  const [whole, part] = [split(file), split(block)];
  return whole.code.includes(part.code) && part.imports.every((name) => whole.imports.includes(name));
}

/** Code without its imports, comments at the end of lines and the form of its white space; and `name from module` for each import. */
function split(text: string): { readonly code: string; readonly imports: readonly string[] } {
  const imports: string[] = [];
  const rest = text.replace(IMPORT, (_, named: string, module: string) => {
    for (const name of named.replace(/[{}]|\btype\b/g, '').split(',')) {
      if (name.trim() !== '') imports.push(`${name.trim()} from ${module.replace(/^[./]+\//, './')}`);
    }
    return '';
  });
  return { code: rest.replace(COMMENT, '').replace(/\s+/g, ' ').trim(), imports };
}

const IMPORT = /^import ([^;]+?) from '([^']+)';$/gm;
const COMMENT = /(?<=^|\s)(?:\/\/.*$|\/\*\*[^\n]*\*\/)/gm;
