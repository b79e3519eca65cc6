import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { PATIENCE, proctor } from '../cli/command.ts';
import { helpOf } from './command-help.ts';
import { blocksOf, createFolder, listDocuments, ROOT, read, typeErrors } from './documents.ts';

/** A working directory with this environment, and its test. */
function writeProject(name: string, code: string, test?: string, directory: string = createFolder()): string {
  const folder = join(directory, 'environments', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'environment.ts'), code);
  if (test !== undefined) writeFileSync(join(folder, 'environment.test.ts'), test);
  return directory;
}

it('the environments of README.md and docs/quickstart.md, and its test, have the right types', PATIENCE, async () => {
  const [counter = ''] = blocksOf('README.md', 'ts');
  const [lamp = '', test = ''] = blocksOf('docs/quickstart.md', 'ts');
  const directory = writeProject('lamp', lamp, test);
  writeProject('counter', counter, undefined, directory);
  expect(await typeErrors(directory, ['environments'])).toBe('');
});

describe.each([
  { document: 'README.md', name: 'counter', run: ['count_to', '--arg', 'target=3'] },
  { document: 'docs/quickstart.md', name: 'lamp', run: ['light', '--arg', 'wanted=on'] },
])('the environment of $document', PATIENCE, ({ document, name, run }) => {
  const [code = ''] = blocksOf(document, 'ts');

  it('reaches a reward of 1 with its own solution, and not by doing nothing', async () => {
    const cwd = writeProject(name, code);
    const solved = await proctor(['run', name, ...run, '--model', 'proctor/oracle'], { cwd });
    expect([solved.code, solved.stdout]).toEqual([0, 'reward 1\n']);
    const idle = await proctor(['run', name, ...run, '--model', 'proctor/noop'], { cwd });
    expect([idle.code, idle.stdout]).toEqual([0, 'reward 0\n']);
  });
});

it('the test of docs/quickstart.md passes, and fails for a lamp that pays everybody', PATIENCE, async () => {
  const [code = '', test = ''] = blocksOf('docs/quickstart.md', 'ts');
  const cwd = writeProject('lamp', code, test);
  const folder = join(cwd, 'environments', 'lamp');
  writeFileSync(join(cwd, 'vitest.config.ts'), read('templates/blank/vitest.config.ts'));
  expect(await runVitest(cwd)).toMatch(/Tests +1 passed/);
  writeFileSync(join(folder, 'environment.ts'), code.replace('=== wanted ? 1 : 0', '=== wanted ? 1 : 1'));
  expect(await runVitest(cwd)).toMatch(/Tests +1 failed/);
});

/** What vitest prints in this directory, without colours. */
async function runVitest(cwd: string): Promise<string> {
  const program = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  // Not as a part of the run that this is itself.
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: '1' };
  const ran = promisify(execFile)(process.execPath, [program, 'run', '--root', cwd], { cwd, env });
  const { stdout } = await ran.catch((failed: { readonly stdout: string }) => failed);
  return stdout;
}

it('every command that the documents name exists, with the options that they give it', async () => {
  const lines = listDocuments()
    .flatMap((document) => [...blocksOf(document, ''), ...inlineCode(document)])
    .flatMap((block) => block.split('\n'))
    .filter((line) => /^(npx (--yes )?(--package \S+ )?)?proctor /.test(line))
    .map((line) => line.replace(/^npx (--yes )?(--package \S+ )?/, '').replace(/#.*$/, ''));
  expect(lines.length).toBeGreaterThan(5);
  const { stdout: overview } = await proctor(['--help'], { cwd: ROOT });
  for (const line of lines) {
    const [, name = '', next = ''] = /^proctor (\w+)(?: (\w+))?/.exec(line) ?? [];
    expect(overview).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
    const ofName = name === '' ? overview : await helpOf(name);
    const isSubcommand = next !== '' && new RegExp(`^Commands:[^]*^ {2}${next}\\b`, 'm').test(ofName);
    const help = isSubcommand ? await helpOf(name, next) : ofName;
    for (const [, option = ''] of line.matchAll(/ (--?[a-z][a-z-]*)/g)) {
      expect([line, help.includes(option)]).toEqual([line, true]);
    }
  }
});

/** What stands between backticks within a line. */
function inlineCode(path: string): readonly string[] {
  const text = read(path).replace(/^```[\s\S]*?^```$/gm, '');
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

it('the README links to the index of the pages, and the index to every other page', () => {
  expect(read('README.md')).toContain('](docs/README.md)');
  const index = read('docs/README.md');
  const pages = listDocuments().filter((page) => page !== 'README.md' && page !== 'docs/README.md');
  expect(pages.filter((page) => !index.includes(`](${page.replace('docs/', '')})`))).toEqual([]);
});

it('every document that the documents link to exists', () => {
  const missing = [...listDocuments(), 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'REVIEW.md', 'SECURITY.md'].flatMap(
    (document) =>
      [...read(document).matchAll(/\]\((?!https?:|#)([^)#]+)/g)].flatMap(([, target = '']) => {
        const path = join(document, '..', target);
        try {
          read(path);
          return [];
        } catch {
          return [`${document} links to ${target}`];
        }
      }),
  );
  expect(missing).toEqual([]);
});
