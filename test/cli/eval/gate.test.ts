import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { type CommandOptions, start } from '../command.ts';
import { counting, evaluate, gateSchema, MANY_COMMANDS, projectWith, tracesOf } from './project.ts';
import { parseXml } from './xml.ts';

const [NONE, HALF] = [counting(1, 1, 1, 1), counting(0, 0, 1, 1)];

/** Evaluations named `good` (mean 1), `half` (about 0.5) and `bad` (0) of four tasks. */
async function evaluated() {
  const { file, ...project } = projectWith(NONE, 'counter');
  writeFileSync(join(project.cwd, 'half.jsonl'), HALF.map((task) => `${JSON.stringify(task)}\n`).join(''));
  await evaluate([file, '--model', 'proctor/oracle', '--name', 'good', '-q'], project);
  await evaluate([file, '--model', 'proctor/noop', '--name', 'bad', '-q'], project);
  await evaluate(['half.jsonl', '--model', 'proctor/noop', '--name', 'half', '-q'], project);
  return project;
}

async function gate(args: readonly string[], project: CommandOptions) {
  const { code, stdout } = await evaluate(['gate', ...args, '--json'], project);
  return [code, stdout === '' ? undefined : gateSchema.parse(JSON.parse(stdout)).code];
}

describe('proctor eval gate', MANY_COMMANDS, () => {
  it('ends with 0, 1, 3 or 2 by thresholds and intervals', async () => {
    const project = await evaluated();
    const rows: readonly (readonly [readonly string[], number])[] = [
      [['good', '--min-score', '0.9'], 0],
      [['good'], 0],
      [['bad', '--min-score', '0.5'], 1],
      [['half', '--min-score', '0.5'], 3],
      [['half', '--min-score', '0.5', '--strict'], 1],
      [['good', '--baseline', 'bad', '--baseline-model', 'proctor/noop', '--max-regression', '0.02'], 0],
      [['bad', '--baseline', 'good', '--baseline-model', 'proctor/oracle', '--max-regression', '0.02'], 1],
      [['good', '--baseline', 'good', '--max-regression', '0'], 0],
    ];
    for (const [args, code] of rows) expect([args, await gate(args, project)]).toEqual([args, [code, code]]);
    const wrong: readonly (readonly [readonly string[], RegExp])[] = [
      [['nope'], /There is no evaluation "nope"/],
      [['good', '--baseline', 'nope', '--max-regression', '0'], /There is no evaluation "nope"/],
      [['good', '--max-regression', '0.1'], /needs --baseline/],
      [['good', '--model', 'gpt-5'], /has no model "gpt-5" \(proctor\/oracle\)/],
      [['good', '--min-coverage', '90'], /from 0 to 1/],
      [['good', '--max-regression', '-1', '--baseline', 'bad'], /0 or more/],
      [['good', '--service', 'http://127.0.0.1:9', '--min-score', '1'], /PROCTOR_API_KEY/],
    ];
    for (const [args, message] of wrong) {
      const { code, stderr } = await evaluate(['gate', ...args], project);
      expect([args, code, stderr]).toEqual([args, 2, expect.stringMatching(message)]);
    }
  });

  it('cannot judge at a service that is away: 2, not 1', async () => {
    const project = { ...projectWith([], 'counter'), env: { PROCTOR_API_KEY: 'key' } };
    const { code, stderr } = await evaluate(['gate', 'last', '--service', 'http://127.0.0.1:9'], project);
    expect([code, stderr]).toEqual([2, expect.stringContaining('does not answer')]);
  });

  it('says the verdict first, then a line for each check', async () => {
    const project = await evaluated();
    const { stdout } = await evaluate(['gate', 'bad', '--min-score', '0.5'], project);
    expect(stdout).toMatch(/^Failed: bad\n {2}(ok {2}|FAIL) {2}.*\n/);
    expect(stdout).toMatch(/FAIL {2}.*0\.5/);
  });

  it('ends with 2 while the evaluation runs, and with 4 when too few attempts have a reward', async () => {
    const { file, ...project } = projectWith([], 'gate');
    const tasks = ['a', 'b'].map((id) => ({
      id,
      env: 'gate',
      scenario: 'pass',
      args: { file: join(project.cwd, id) },
    }));
    writeFileSync(join(project.cwd, file), tasks.map((task) => `${JSON.stringify(task)}\n`).join(''));
    writeFileSync(join(project.cwd, 'a'), '');
    const running = start(['eval', file, '--model', 'proctor/oracle'], project);
    await until(async () => (await tracesOf(project.cwd)).some(({ status }) => status === 'completed'));
    expect(await gate(['last'], project)).toEqual([2, 2]);
    await evaluate(['cancel', 'last'], project);
    await running.ended;
    expect(await gate(['last', '--min-score', '1'], project)).toEqual([4, 4]);
    expect(await gate(['last', '--min-coverage', '0.5'], project)).toEqual([0, 0]);
    expect((await running.ended).code).toBe(1);
  });

  it('writes a JUnit document and Markdown, also where it fails', async () => {
    const project = await evaluated();
    const files = ['--junit', 'junit.xml', '--markdown', 'gate.md'];
    const baseline = ['--baseline', 'good', '--baseline-model', 'proctor/oracle', '--max-regression', '0.1'];
    const { code } = await evaluate(['gate', 'bad', ...baseline, ...files], project);
    expect(code).toBe(1);
    const document = parseXml(readFileSync(join(project.cwd, 'junit.xml'), 'utf8'));
    expect(document.attributes).toMatchObject({ tests: '4', failures: '4', errors: '0' });
    const markdown = readFileSync(join(project.cwd, 'gate.md'), 'utf8');
    expect(markdown).toMatch(/^<!-- proctor eval gate -->\n### ❌ Failed: <code>bad<\/code>\n/);
    expect(markdown).toContain('0 won, 4 lost, 0 tied');
    expect(markdown).toContain('- lost: <code>t1</code>');
  });
});
