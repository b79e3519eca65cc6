import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { COMMAND, createProject, PATIENCE } from './command.ts';

/** The outputs of `proctor`, started by a link at this path of the working directory. */
async function startedAs(link: string, args: readonly string[], cwd: string): Promise<string> {
  const path = join(cwd, link);
  mkdirSync(join(path, '..'), { recursive: true });
  symlinkSync(COMMAND, path);
  const child = spawn(process.execPath, [path, ...args], { cwd, timeout: 50_000 });
  let text = '';
  for (const output of [child.stdout, child.stderr]) output.setEncoding('utf8').on('data', (part) => (text += part));
  await new Promise((resolve) => child.once('close', resolve));
  return text;
}

describe('hints name commands as they can be typed', PATIENCE, () => {
  it('with npx where the folder has the package', async () => {
    const link = 'node_modules/.bin/proctor';
    expect(await startedAs(link, ['list'], createProject())).toContain('here: "npx proctor init <name>" makes');
    expect(await startedAs(link, ['replay', 'last'], createProject())).toContain(
      'yet that has ended: "npx proctor run" makes one',
    );
    expect(await startedAs(link, ['list', 'counter'], createProject('counter'))).toContain('$ npx proctor run counter');
  });

  it('without npx where it is installed for the whole machine', async () => {
    const link = 'bin/proctor';
    expect(await startedAs(link, ['list'], createProject())).toContain('here: "proctor init <name>" makes');
    const listed = await startedAs(link, ['list', 'counter'], createProject('counter'));
    expect(listed).toContain('$ proctor run counter');
    const run = ['run', 'counter', 'count_to', '--arg', 'target=1', '--model', 'proctor/oracle'];
    const played = await startedAs(link, run, createProject('counter'));
    expect(played).toMatch(/start proctor serve in another terminal, then proctor open/);
    expect([listed, played].join('\n')).not.toContain('npx proctor');
  });
});
