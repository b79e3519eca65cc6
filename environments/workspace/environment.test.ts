import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { connectEnvironment } from 'proctor/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { command, connect, describeInSandbox, kinds, say, solve } from './test-workspace.ts';

const tasks = [
  ['repair', 'intervals'],
  ['repair', 'separated'],
  ['repair', 'letter'],
  ['implement', 'duration'],
  ['implement', 'cache'],
  ['implement', 'roman'],
] as const;

describe('the workspace environment', () => {
  it('offers six tools, and tells which of them only read', async () => {
    const tools = await (await connect({ sandbox: 'none' })).tools();
    expect(tools.map(({ name, annotations }) => [name, annotations.readOnlyHint ?? false])).toEqual([
      ['read_file', true],
      ['write_file', false],
      ['edit_file', false],
      ['list_files', true],
      ['search', true],
      ['run_command', false],
    ]);
  });

  it('offers two scenarios whose arguments it checks', async () => {
    const client = await connect({ sandbox: 'none' });
    const scenarios = await client.scenarios();
    expect(scenarios.map(({ name, required_args }) => [name, required_args])).toEqual([
      ['workspace:repair', ['task']],
      ['workspace:implement', ['task']],
    ]);
    await expect(client.setup('repair', { task: 'cache' })).rejects.toThrow('task');
  });

  it('gives each session a directory of its own, which goes when the session ends', async () => {
    const [one, other] = [await connect({ sandbox: 'none' }), await connect({ sandbox: 'none' })];
    await say(one, 'write_file', { path: 'note.txt', content: 'mine' });
    expect(await say(other, 'list_files', {})).toEqual({ text: 'The folder is empty.', isError: false });
    const { output } = await command(one, 'stat -c %a .. && pwd');
    expect(directories().filter((name) => output.includes(name))).toHaveLength(1);
    expect(output).toMatch(/^700\n.*\/workspace-[0-9a-f-]{36}\/work\n$/);
    await one.close();
    expect(directories().filter((name) => output.includes(name))).toEqual([]);
  });

  it('removes what an agent has made hard to remove', async () => {
    const client = await connect({ sandbox: 'none' });
    const deep = 'for i in $(seq 40); do mkdir $(printf "%0200d" 0) && cd $(printf "%0200d" 0) || exit 1; done';
    const { output } = await command(client, `pwd; ${deep}; cd / ; mkdir -p "$OLDPWD/x" ; chmod 0 "$OLDPWD"`);
    await client.close();
    expect(directories().filter((name) => output.includes(name))).toEqual([]);
  });
});

describe.each(kinds)('with the sandbox %s', (sandbox) => {
  // Without a sandbox it is the same path but for the sandbox.
  const played = sandbox === kinds[0] ? tasks : tasks.slice(0, 1);

  it.each(played)('%s %s: its own solution earns 1', async (scenario, task) => {
    const client = await connect({ sandbox });
    await client.setup(scenario, { task });
    await solve(client, scenario, task);
    const { reward, subscores, info } = await client.evaluate(scenario, 'done');
    expect({ reward, info }).toMatchObject({ reward: 1, info: { task, sandbox, failed: [] } });
    expect(subscores.length).toBeGreaterThan(8);
    expect(subscores.every(({ value }) => value === 1)).toBe(true);
  });

  it.each(played)('%s %s: doing nothing earns 0', async (scenario, task) => {
    const client = await connect({ sandbox });
    await client.setup(scenario, { task });
    expect(await client.evaluate(scenario, '')).toMatchObject({ reward: 0, is_error: false });
  });
});

describe.each(kinds.slice(0, 1))('the reward', (sandbox) => {
  it('is the share of the hidden tests that pass', async () => {
    const client = await connect({ sandbox });
    await client.setup('implement', { task: 'duration' });
    const half =
      'export const formatDuration = () => "0s";\nexport function parseDuration() { throw new RangeError(); }\n';
    await say(client, 'write_file', { path: 'src/duration.js', content: half });
    const { reward, subscores } = await client.evaluate('implement', 'half');
    expect(subscores.filter(({ value }) => value === 1).map(({ name }) => name)).toEqual([
      'refuses what has no parts',
      'refuses parts out of order or twice',
      'refuses signs, fractions, other units and spaces within a part',
      'refuses what is not text',
      'writes nothing as no seconds',
    ]);
    expect(reward).toBeCloseTo(5 / 12);
  });

  it('is less where a repair breaks what worked', async () => {
    const client = await connect({ sandbox });
    await client.setup('repair', { task: 'intervals' });
    await solve(client, 'repair', 'intervals');
    const broken = {
      old_text: '  const merged = [];',
      new_text: '  if (intervals.length === 0) return null;\n  const merged = [];',
    };
    expect(await say(client, 'edit_file', { path: 'src/intervals.js', ...broken })).toMatchObject({ isError: false });
    const { reward, info } = await client.evaluate('repair', 'done');
    expect(info).toMatchObject({ failed: ['gives nothing for nothing'] });
    expect(reward).toBeCloseTo(2 / 3);
  });

  it('is 0 for wrong work, and for work that is gone', async () => {
    for (const spoil of ['echo "export const merge = () => [];" > src/intervals.js', 'rm -rf src', 'chmod 0 .']) {
      const client = await connect({ sandbox });
      await client.setup('repair', { task: 'intervals' });
      await command(client, spoil);
      expect(await client.evaluate('repair', 'done')).toMatchObject({ reward: 0, is_error: false });
    }
  });

  it('takes code that never ends as wrong, within the limits', async () => {
    const limits = {
      timeMs: 100,
      memoryBytes: 128 * 1024 * 1024,
      processes: 16,
      outputBytes: 65_536,
      keptOutputBytes: 1_024,
    };
    const client = await connect({ sandbox, limits: { hiddenTest: limits, gradingMs: 2_000 } });
    await client.setup('repair', { task: 'intervals' });
    await say(client, 'write_file', { path: 'src/intervals.js', content: 'for (;;) {}\n' });
    expect(await client.evaluate('repair', 'done')).toMatchObject({ reward: 0, is_error: false });
  });

  it('does not depend on tests that the agent sees', async () => {
    const client = await connect({ sandbox });
    const { prompt } = await client.setup('implement', { task: 'cache', visible_tests: false });
    expect(JSON.stringify(prompt)).not.toContain('node --test');
    expect((await say(client, 'list_files', {})).text).not.toContain('test');
    await solve(client, 'implement', 'cache');
    expect(await client.evaluate('implement', 'done')).toMatchObject({ reward: 1 });
  });

  it('is given for what is there when the agent has answered: a command that still runs is ended, and none begins', async () => {
    const client = await connect({ sandbox });
    await client.setup('repair', { task: 'intervals' });
    const late = client.call('run_command', { command: 'touch begun; sleep 60' });
    while (!(await say(client, 'list_files', {})).text.includes('begun'));
    expect(await client.evaluate('repair', 'done')).toMatchObject({ reward: 0 });
    expect(await late).toMatchObject({ is_error: true });
    expect(await say(client, 'list_files', {})).toEqual({ text: 'The task is over.', isError: true });
    expect(await say(client, 'run_command', { command: 'true' })).toEqual({ text: 'The task is over.', isError: true });
  });
});

describeInSandbox('in a process of its own', () => {
  const path = fileURLToPath(new URL('./environment.ts', import.meta.url));

  it('plays the solution to a reward of 1 in the sandbox', async () => {
    const client = await connectEnvironment({ kind: 'module', path });
    onTestFinished(() => client.close());
    await client.setup('repair', { task: 'intervals' });
    await solve(client, 'repair', 'intervals');
    expect(await client.evaluate('repair', 'done')).toMatchObject({ reward: 1, info: { sandbox: 'bubblewrap' } });
  });
});

function directories(): readonly string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith('workspace-'));
}
