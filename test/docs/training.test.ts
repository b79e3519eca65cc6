import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { proctor } from '../cli/command.ts';
import { createFolder, ROOT, read } from './documents.ts';

const PAGE = 'docs/training.md';
/** Shown by a service alone. */
const LEFT_OUT = ['open'];

/** The commands of the loop, in their order. */
function commands(): readonly (readonly string[])[] {
  const [, loop = ''] = /## The loop in ten commands\n([\s\S]*?)\n## /.exec(read(PAGE)) ?? [];
  const lines = [...loop.matchAll(/^npx proctor (.*)$/gm)].map(([, words = '']) => words.split(' '));
  return lines.filter(([first = '']) => !LEFT_OUT.includes(first));
}

describe(PAGE, { timeout: 600_000 }, () => {
  it('leads from nothing to a better model, by the commands that it shows, with a gain whose interval is above 0', async () => {
    const cwd = createFolder();
    mkdirSync(join(cwd, 'environments'));
    for (const name of ['counter', 'retail'])
      symlinkSync(join(ROOT, 'environments', name), join(cwd, 'environments', name));
    expect(commands().length).toBeGreaterThanOrEqual(9);
    for (const words of commands()) {
      const { code, stdout, stderr } = await proctor([...words], { cwd });
      expect([words.join(' '), code, code === 0 ? '' : stderr]).toEqual([words.join(' '), 0, '']);
      if (words[0] === 'train' && words.includes('--evaluate')) expect(stdout).toMatch(/^Gain +\+0\.\d+ \[\+0\.\d+, /m);
    }
  });
});
