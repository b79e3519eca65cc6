import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from './documents.ts';

const NO_OFFENDERS = { comments: 0, sentences: 0 };

it('a comment counts by its first word: line comments, docstrings, their paragraphs and tags, and comments of JSX', () => {
  const { code, stdout } = check({
    'src/odd.tsx': [
      '// What a caller gets.',
      '// Of two lines it is one comment.',
      'const a = 1; // Whoever asks first.',
      '/**',
      ' * Reads a file.',
      ' *',
      ' * Nobody else may.',
      ' *',
      ' * @throws What the disk says.',
      ' */',
      "const b = () => <p>Don't {/* Of a run. */}</p>;",
    ].join('\n'),
  });
  expect(code).toBe(1);
  expect(places(stdout)).toEqual([
    'src/odd.tsx:1',
    'src/odd.tsx:3',
    'src/odd.tsx:7',
    'src/odd.tsx:9',
    'src/odd.tsx:11',
  ]);
});

it('code is no comment: strings, templates, regular expressions and addresses', () => {
  const { code } = check({
    'src/even.ts': [
      "const a = '// What is text.';",
      'const b = `/* Of $' + '{`// Nobody $' + '{1}`} */`;',
      'const c = /[/*] What/.test(a) ? 4 / 2 : 1;',
      '// A noun first. What follows is a second sentence.',
    ].join('\n'),
  });
  expect(code).toBe(0);
});

it('a long sentence counts in prose, items and cells, and not in code or in the address of a link', () => {
  const long = `${'word '.repeat(50).trim()}.`;
  const { code, stdout } = check({
    'README.md': `# Title\n\nShort. ${long}\n\n\`\`\`\n${long}\n\`\`\`\n\n[text](https://x.example/${'a'.repeat(300)})\n`,
    'docs/deep/page.md': `- ${long}\n- short\n\n| cell | ${long} |\n| --- | --- |\n\n${'Short one. '.repeat(30)}\n`,
  });
  expect(code).toBe(1);
  expect(places(stdout)).toEqual(['README.md:3', 'docs/deep/page.md:1', 'docs/deep/page.md:4']);
});

it('a limit may fall and never rise', () => {
  const files = { 'src/odd.ts': '// What it is.\n' };
  const limits = { comments: 2, sentences: 0 };
  const { root, code } = check(files, limits);
  expect(code).toBe(0);
  expect(run(root, '--lower').code).toBe(0);
  expect(limitsOf(root)).toEqual({ comments: 1, sentences: 0 });
  writeFileSync(join(root, 'src/odd.ts'), '// What it is.\nconst a = 1;\n// Of what it is made.\n');
  expect(run(root, '--lower').code).toBe(1);
  expect(limitsOf(root)).toEqual({ comments: 1, sentences: 0 });
});

/** Checks a folder that holds these files beside an empty README. */
function check(files: Readonly<Record<string, string>>, limits: object = NO_OFFENDERS) {
  const root = mkdtempSync(join(tmpdir(), 'proctor-words-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const all = { 'README.md': '', 'docs/index.md': '', 'src/empty.ts': '', ...files };
  for (const [path, text] of Object.entries({ ...all, 'scripts/words/limits.json': JSON.stringify(limits) })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return { root, ...run(root) };
}

function run(root: string, ...further: readonly string[]): { readonly code: number | null; readonly stdout: string } {
  const script = join(ROOT, 'scripts/check-words.mjs');
  const { status, stdout } = spawnSync(process.execPath, [script, '--root', root, ...further], { encoding: 'utf8' });
  return { code: status, stdout };
}

function limitsOf(root: string): unknown {
  return JSON.parse(readFileSync(join(root, 'scripts/words/limits.json'), 'utf8'));
}

/** The file and line of each offender that is printed. */
function places(stdout: string): readonly string[] {
  return stdout.split('\n').flatMap((line) => /^((?:src|docs|README)\S*:\d+): /.exec(line)?.[1] ?? []);
}
