import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { PATIENCE, proctor } from '../../cli/command.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

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

it('the environment of docs/composition.md is solved by its solution and not by doing nothing', PATIENCE, async () => {
  const cwd = writeGuide();
  // A temporary directory of its own: others may run the same environment at the same time.
  const env = { TMPDIR: join(cwd, 'temporary') };
  mkdirSync(env.TMPDIR);
  const solved = await proctor(['run', 'notes', 'write_note', '--model', 'proctor/oracle'], { cwd, env });
  expect([solved.code, solved.stdout]).toEqual([0, 'reward 1\n']);
  const idle = await proctor(['run', 'notes', 'write_note', '--model', 'proctor/noop'], { cwd, env });
  expect(idle.stdout).toBe('reward 0\n');
  expect(readdirSync(env.TMPDIR).filter((name) => name.startsWith('notes-'))).toEqual([]);
});
