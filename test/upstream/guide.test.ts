import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { PATIENCE, proctor } from '../cli/command.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** The environment of the guide, in a working directory inside of the checkout, where its imports are packages. */
function writeGuide(): string {
  const [, code = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(readFileSync(join(ROOT, 'docs/composition.md'), 'utf8')) ?? [];
  const parent = join(ROOT, '.proctor');
  mkdirSync(parent, { recursive: true });
  const directory = mkdtempSync(join(parent, 'guide-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }));
  const folder = join(directory, 'environments', 'notes');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'environment.ts'), code);
  return directory;
}

const folders = () => readdirSync(tmpdir()).filter((name) => name.startsWith('notes-'));

it('the environment of docs/composition.md is solved by its solution and not by doing nothing', PATIENCE, async () => {
  const cwd = writeGuide();
  const before = folders();
  const solved = await proctor(['run', 'notes', 'write_note', '--model', 'proctor/oracle'], { cwd });
  expect([solved.code, solved.stdout]).toEqual([0, 'reward 1\n']);
  const idle = await proctor(['run', 'notes', 'write_note', '--model', 'proctor/noop'], { cwd });
  expect(idle.stdout).toBe('reward 0\n');
  expect(folders()).toEqual(before);
});
