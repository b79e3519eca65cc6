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
      'dev',
      'mcp',
      'run',
      'chat',
      'seat',
      'agents',
      'replay',
      'demo',
      'eval',
      'judge',
      'regrade',
      'check',
      'dataset',
      'train',
      'models',
      'serve',
      'worker',
      'scenarios',
      'ors',
      'openenv',
      'open',
      'keys',
      'sandboxes',
      'doctor',
      'traces',
      'export',
      'import',
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

  it('says which commands know --service where one does not, with exit code 2', async () => {
    const cwd = createProject();
    const place = ['--service', 'http://127.0.0.1:9'];
    const commands = [['doctor'], ['init', 'x'], ['list']];
    const ended = await Promise.all(commands.map((words) => proctor([...words, ...place], { cwd })));
    const known =
      'These know --service: run, seat, replay, eval, judge calibrate, regrade, check, dataset build, train, models ';
    for (const [index, { code, stderr }] of ended.entries()) {
      expect([commands[index], code, stderr]).toEqual([commands[index], 2, expect.stringContaining(known)]);
    }
    const other = await proctor(['traces', 'list', '--servise', 'x'], { cwd });
    expect([other.code, other.stderr]).toEqual([2, expect.not.stringContaining('These know')]);
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
