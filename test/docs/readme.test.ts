import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PATIENCE, proctor } from '../cli/command.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TSC = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** The code blocks of a document, by the language that they name. */
function blocksOf(path: string, language: string): readonly string[] {
  return [...read(path).matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, named, code = '']) =>
    named === language ? [code] : [],
  );
}

/** A working directory with this environment, inside of the checkout, where `proctor` is a package. */
function writeProject(name: string, code: string): string {
  const parent = join(ROOT, '.proctor');
  mkdirSync(parent, { recursive: true });
  const directory = mkdtempSync(join(parent, 'docs-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  const folder = join(directory, 'environments', name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'environment.ts'), code);
  writeFileSync(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), include: ['environments'] }),
  );
  return directory;
}

/** What the compiler says of a project; nothing when its types are right. */
async function typeErrors(directory: string): Promise<string> {
  const checked = promisify(execFile)(process.execPath, [TSC, '-p', directory], { cwd: directory });
  return checked.then(
    ({ stdout }) => stdout,
    (error: { readonly stdout?: string }) => error.stdout ?? String(error),
  );
}

describe.each([
  { document: 'README.md', name: 'counter', run: ['count_to', '--arg', 'target=3'] },
  { document: 'docs/quickstart.md', name: 'lamp', run: ['light', '--arg', 'wanted=on'] },
])('the environment of $document', PATIENCE, ({ document, name, run }) => {
  const [code = ''] = blocksOf(document, 'ts');

  it('has the right types', async () => {
    expect(await typeErrors(writeProject(name, code))).toBe('');
  });

  it('reaches a reward of 1 with its own solution, and not by doing nothing', async () => {
    const cwd = writeProject(name, code);
    const solved = await proctor(['run', name, ...run, '--model', 'proctor/oracle'], { cwd });
    expect([solved.code, solved.stdout]).toEqual([0, 'reward 1\n']);
    const idle = await proctor(['run', name, ...run, '--model', 'proctor/noop'], { cwd });
    expect([idle.code, idle.stdout]).toEqual([0, 'reward 0\n']);
  });
});

it('every command that the documents name exists, with the options that they give it', PATIENCE, async () => {
  const documents = ['README.md', ...readdirSync(join(ROOT, 'docs')).filter((file) => file.endsWith('.md'))];
  const lines = documents
    .flatMap((file) => blocksOf(file === 'README.md' ? file : `docs/${file}`, ''))
    .flatMap((block) => block.split('\n'))
    .filter((line) => /^(npx )?proctor /.test(line))
    .map((line) => line.replace(/#.*$/, ''));
  expect(lines.length).toBeGreaterThan(5);
  const { stdout: overview } = await proctor(['--help'], { cwd: ROOT });
  const helps = new Map<string, string>();
  for (const line of lines) {
    const [, command = ''] = /proctor (\w+)/.exec(line) ?? [];
    expect(overview).toMatch(new RegExp(`^ {2}${command}\\b`, 'm'));
    const help = helps.get(command) ?? (await helpOf(command));
    helps.set(command, help);
    for (const [, option = ''] of line.matchAll(/ (--?[a-z][a-z-]*)/g)) {
      expect([line, help.includes(option)]).toEqual([line, true]);
    }
  }
});

async function helpOf(command: string): Promise<string> {
  const { code, stdout } = await proctor([command, '--help'], { cwd: ROOT });
  expect(code).toBe(0);
  return stdout;
}

it('every document that the documents link to exists', () => {
  const documents = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((file) => `docs/${file}`)].filter((file) =>
    file.endsWith('.md'),
  );
  const missing = documents.flatMap((document) =>
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
