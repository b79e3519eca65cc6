import { describe, expect, it } from 'vitest';
import { trainingJobDetailSchema } from '../../src/contract/service/training.ts';
import { createProject, proctor } from './command.ts';

const PROOF = ['--held-out', 'counter:test', '--evaluate', '-n', '2'];

describe('proctor train', { timeout: 300_000 }, () => {
  it('says of a proven regression that the model is worse, and fails a gate', async () => {
    const cwd = createProject('counter');
    const run = (...args: readonly string[]) => proctor(args, { cwd });
    await run('eval', 'counter:train', '--model', 'proctor/noop', '--name', 'idle');
    const learn = ['--base', 'proctor/oracle', '--evaluation', 'idle', '--include-reference', '--min-reward', '0'];
    const worse = await run('train', '--name', 'worse', ...learn, ...PROOF);
    expect(worse.code, worse.stderr).toBe(0);
    expect(worse.stdout).toMatch(/^Verdict +worse than its base$/m);
    expect(worse.stderr).toContain('the model is worse than its base: its mean reward differs by -');
    expect(worse.stderr).toContain('worse than its base: npx proctor models remove worse');
    expect(worse.stderr).not.toContain('It is a model now');

    const gated = await run('train', 'follow', 'worse', '--min-gain', '0', '--json');
    expect([gated.code, gated.stderr]).toEqual([1, expect.stringContaining('The gain is less than 0.')]);
    const { proof, events } = trainingJobDetailSchema.parse(JSON.parse(gated.stdout));
    expect([proof?.verdict, events.at(-1)?.type]).toEqual(['worse', 'status']);
    expect((await run('train', 'follow', 'worse', '--min-gain', '-1')).code).toBe(0);

    const unproven = await run('train', '--name', 'other', ...learn, '--min-gain', '0');
    expect([unproven.code, unproven.stderr]).toEqual([2, expect.stringContaining('add --evaluate')]);
  });

  it('refuses a proof without tasks and data with held-out tasks at one time', async () => {
    const cwd = createProject('counter');
    await proctor(['eval', 'counter', '--model', 'proctor/oracle', '--name', 'all'], { cwd });
    const learn = ['--name', 'm', '--base', 'proctor/oracle', '--evaluation', 'all', '--include-reference'];
    const { code, stderr } = await proctor(['train', ...learn, '--evaluate'], { cwd });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/--held-out <taskset>.*"seven".*--split train/s)]);
    const both = await proctor(['train', ...learn, '--split', 'train', ...PROOF, '--json'], { cwd });
    expect(both.code, both.stderr).toBe(0);
  });
});
