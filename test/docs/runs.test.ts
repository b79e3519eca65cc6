import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PATIENCE, proctor } from '../cli/command.ts';
import { createFolder, ROOT } from './documents.ts';

it('the configuration of docs/runs.md names an environment that lies elsewhere', PATIENCE, async () => {
  const cwd = createFolder();
  cpSync(join(ROOT, 'docs/examples/proctor.config.ts'), join(cwd, 'proctor.config.ts'));
  mkdirSync(join(cwd, 'elsewhere/shop'), { recursive: true });
  cpSync(join(ROOT, 'docs/examples/shared-halves.ts'), join(cwd, 'elsewhere/shop/environment.ts'));
  const solved = await proctor(['run', 'shop', 'count_down', '--arg', 'start=3'], { cwd });
  expect([solved.code, solved.stdout]).toEqual([0, 'reward 1\n']);
});
