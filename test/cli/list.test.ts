import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createProject, PATIENCE, proctor } from './command.ts';

const COUNTER_MODULE = fileURLToPath(new URL('../../environments/counter/environment.ts', import.meta.url));

describe('proctor list', PATIENCE, () => {
  it('lists the environments, and of one its scenarios with arguments, its tools and its tasks', async () => {
    const cwd = createProject('counter', 'retail');
    const [all, one, json] = await Promise.all([
      proctor(['list'], { cwd }),
      proctor(['list', 'counter'], { cwd }),
      proctor(['list', 'counter', '--json'], { cwd }),
    ]);
    expect([all.code, all.stdout]).toEqual([
      0,
      expect.stringMatching(
        /^NAME +VERSION +SCENARIOS +DESCRIPTION\ncounter +\S+ +count_to, slow_count .*\nretail .*\n$/,
      ),
    ]);
    expect(one.code).toBe(0);
    expect(one.stdout).toContain('    target  integer from 0, required: What the counter has to show in the end.\n');
    expect(one.stdout).toContain('    $ npx proctor run counter count_to --arg target=1\n');
    expect(one.stdout).toMatch(/^Tools\n {2}increment {7}Adds/m);
    expect(one.stdout).toMatch(
      /^Tasks\n {2}count_to: 12 tasks\n {4}\$ npx proctor eval counter\/count_to --model proctor\/oracle\n/m,
    );
    expect([json.code, json.stderr]).toEqual([0, '']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      environments: [
        {
          name: 'counter',
          error: null,
          scenarios: [{ short_name: 'count_to', required_args: ['target'] }, { short_name: 'slow_count' }],
          tools: [{ name: 'increment' }, { name: 'read' }, { name: 'slow_increment' }],
        },
      ],
    });
  });

  it('reads twelve environments at once without a warning of Node.js', async () => {
    const cwd = createProject();
    for (let number = 1; number <= 12; number += 1) {
      const folder = join(cwd, 'environments', `many-${number}`);
      mkdirSync(folder);
      symlinkSync(COUNTER_MODULE, join(folder, 'environment.ts'));
    }
    const { code, stdout, stderr } = await proctor(['list'], { cwd });
    expect([code, stdout.match(/^many-/gm)?.length]).toEqual([0, 12]);
    expect(stderr).not.toContain('Warning');
  });

  it('has a description for each environment of this repository', async () => {
    const { stdout } = await proctor(['list', '--json'], { cwd: createProject('counter', 'retail', 'travel') });
    const { environments } = JSON.parse(stdout) as { environments: { name: string; description: string }[] };
    expect(environments.filter(({ description }) => description !== '').map(({ name }) => name)).toEqual([
      'counter',
      'retail',
      'travel',
    ]);
  });

  it('shows the tasks that scenarios declare, and the tasksets of files', async () => {
    const cwd = createProject('counter');
    mkdirSync(join(cwd, 'tasksets', 'counting'), { recursive: true });
    writeFileSync(join(cwd, 'tasksets', 'counting', 'small.jsonl'), '');
    const [all, json] = await Promise.all([proctor(['list'], { cwd }), proctor(['list', '--json'], { cwd })]);
    expect(all.stdout).toMatch(/^TASKSET +FILE\ncounting\/small +tasksets\/counting\/small\.jsonl\n$/m);
    const [counter] = JSON.parse(json.stdout).environments;
    expect(counter.scenarios[0].tasks).toHaveLength(12);
    expect(counter.scenarios[0].tasks[0]).toMatchObject({ env: 'counter', scenario: 'count_to', args: {} });
  });

  it('lists the others where one cannot be read, says why, and ends with 1', async () => {
    const cwd = createProject('counter');
    mkdirSync(join(cwd, 'environments', 'broken'));
    writeFileSync(join(cwd, 'environments', 'broken', 'environment.js'), "throw new Error('it is broken');\n");
    const { code, stdout, stderr } = await proctor(['list'], { cwd });
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^broken +- +- +cannot be read\ncounter .*count_to/m)]);
    expect(stderr).toMatch(/broken: [\s\S]*it is broken/);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it('shows the path that was typed in its examples, and ends with 2 for a name that is none', async () => {
    const cwd = createProject('counter');
    const path = './environments/counter/environment.ts';
    const [byPath, wrong] = await Promise.all([proctor(['list', path], { cwd }), proctor(['list', 'conter'], { cwd })]);
    expect(byPath.stdout).toContain(`$ npx proctor run ${path} count_to`);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('Did you mean "counter"?')]);
  });
});
