import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findingNameSchema } from '../../src/contract/service/check.ts';
import { FINDING_HELP } from '../../src/contract/service/check-help.ts';
import { createProject, PATIENCE, proctor } from './command.ts';

const GUIDE = readFileSync(new URL('../../docs/trust.md', import.meta.url), 'utf8');

it.each(findingNameSchema.options)('%s has its usual cause and remedy in the guide, under a heading', (name) => {
  const section = GUIDE.split('\n### ').find((part) => part.startsWith(`${name}\n`)) ?? '';
  const { asks, cause, remedy } = FINDING_HELP[name];
  expect(section).toContain(`${asks}\n\n- Usual cause: ${cause}\n- Usual remedy: ${remedy}\n`);
});

it('a check prints cause and remedy with an error, and a link that leads to the guide', PATIENCE, async () => {
  const cwd = createProject();
  writeFileSync(join(cwd, 'broken.ts'), 'throw new Error("It does not start");\n');
  const { stdout } = await proctor(['check', './broken.ts', '--junit', 'check.xml'], { cwd });
  const { cause, remedy } = FINDING_HELP.start;
  expect(stdout).toContain(`Usual cause: ${cause}`);
  const link = /Usual remedy: .* (file:\S+)#start/.exec(stdout)?.[1] ?? 'file:///nowhere';
  expect(stdout).toContain(`Usual remedy: ${remedy} ${link}#start`);
  expect(readFileSync(new URL(link), 'utf8')).toBe(GUIDE);
  expect(readFileSync(join(cwd, 'check.xml'), 'utf8')).toContain(`Usual cause: ${cause}`);
});
