import { describe, expect, it } from 'vitest';
import { createProject, PATIENCE, proctor } from './command.ts';

describe('proctor --help', PATIENCE, () => {
  it('lists every command, and each of them explains itself with examples', async () => {
    const cwd = createProject();
    const { code, stdout } = await proctor(['--help'], { cwd });
    expect(code).toBe(0);
    const commands = [...stdout.matchAll(/^ {2}([a-z]+)(?: |$)/gm)].map(([, name = '']) => name);
    expect(commands).toEqual([
      'init',
      'list',
      'run',
      'eval',
      'check',
      'replay',
      'regrade',
      'train',
      'seat',
      'agents',
      'judge',
      'chat',
      'serve',
      'worker',
      'scenarios',
      'ors',
      'openenv',
      'open',
      'models',
      'dataset',
      'keys',
      'traces',
      'export',
      'import',
      'dev',
      'mcp',
      'doctor',
      'demo',
      'help',
    ]);
    const helps = await Promise.all(
      commands.slice(0, -1).map(async (name) => ({ name, ...(await proctor([name, '--help'], { cwd })) })),
    );
    for (const { name, code: exitCode, stdout: help } of helps) {
      expect([name, exitCode]).toEqual([name, 0]);
      expect(help).toMatch(new RegExp(`Examples:\\n( {2}\\$ .*\\n)*( {2}\\$ .*proctor ${name})`));
    }
  });

  it('is what a wrong command points to, with exit code 2', async () => {
    const cwd = createProject();
    const [none, unknown, version] = await Promise.all([
      proctor([], { cwd }),
      proctor(['rnu'], { cwd }),
      proctor(['--version'], { cwd }),
    ]);
    expect([none.code, none.stdout, none.stderr]).toEqual([2, '', expect.stringContaining('Usage: proctor')]);
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringMatching(/unknown command 'rnu'[\s\S]*run[\s\S]*--help/),
    ]);
    expect([version.code, version.stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)]);
  });
});
