import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { createFolder } from '../docs/documents.ts';
import { PATIENCE, proctor } from './command.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** A module that fails where it gets anything else as `proctor`. */
const ASKING = `import * as own from 'proctor';
if (!import.meta.resolve('proctor').endsWith('/dist/index.js') || own === undefined) throw new Error('not the built one');
`;

it('an environment that a command starts gets the built package, in a checkout too', PATIENCE, async () => {
  const cwd = createFolder();
  cpSync(join(ROOT, 'tsconfig.json'), join(cwd, 'tsconfig.json'));
  mkdirSync(join(cwd, 'environments/asking'), { recursive: true });
  const counter = readFileSync(join(ROOT, 'environments/counter/environment.ts'), 'utf8');
  writeFileSync(join(cwd, 'environments/asking/environment.ts'), ASKING + counter);
  const args = ['run', 'asking', 'count_to', '--arg', 'target=3', '--model', 'proctor/oracle'];
  const ended = await proctor(args, { cwd });
  expect([ended.code, ended.stdout]).toEqual([0, 'reward 1\n']);
});

it('a process that a test starts with tsx gets the built package', PATIENCE, () => {
  const folder = createFolder();
  const file = join(folder, 'asking.mts');
  writeFileSync(file, `${ASKING}console.log('built');`);
  const said = execFileSync(process.execPath, ['--import', 'tsx', file], { cwd: ROOT, encoding: 'utf8' });
  expect(said).toBe('built\n');
});
