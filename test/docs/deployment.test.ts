import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadProject } from '../../src/config/project.ts';
import { PATIENCE, proctor } from '../cli/command.ts';
import { createFolder, ROOT } from './documents.ts';

it('the configuration of docs/deployment.md limits what environments may take', PATIENCE, async () => {
  const cwd = createFolder();
  cpSync(join(ROOT, 'docs/examples/limits.config.ts'), join(cwd, 'proctor.config.ts'));
  mkdirSync(join(cwd, 'shop'));
  cpSync(join(ROOT, 'docs/examples/shared-halves.ts'), join(cwd, 'shop/environment.ts'));
  const { environments } = await loadProject(cwd, {});
  expect([...environments].map(([name, { limits }]) => [name, limits])).toEqual([
    ['shop', { concurrency: 4, memoryMiB: 512 }],
    ['desk', { memoryMiB: 4096 }],
    ['remote', { concurrency: 2 }],
  ]);
  const solved = await proctor(['run', 'shop', 'count_down', '--arg', 'start=3'], { cwd });
  expect([solved.code, solved.stdout]).toEqual([0, 'reward 1\n']);
});
