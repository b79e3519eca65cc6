import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { counting, evaluate, MANY_COMMANDS, projectWith, tracesOf, writeTasks } from './project.ts';

describe('a wrong proctor eval', MANY_COMMANDS, () => {
  it('ends with 2, a message that helps, and no evaluation', async () => {
    const { file, ...project } = projectWith(counting(1, 2), 'counter');
    writeFileSync(
      join(project.cwd, 'proctor.config.mts'),
      "export default { gateways: { unpriced: { url: 'http://127.0.0.1:9/v1' } } };",
    );
    writeFileSync(join(project.cwd, 'broken.jsonl'), '{"id":"a"\n');
    const oracle = ['--model', 'proctor/oracle'];
    const rows: readonly (readonly [readonly string[], RegExp])[] = [
      [[], /Name a taskset/],
      [['--json', 'list'], /--json stands before list/],
      [[file], /Name a model with --model/],
      [[file, '--model', 'proctor/oracel'], /Did you mean "proctor\/oracle"\?/],
      [[file, '--model', 'gpt-5'], /PROCTOR_GATEWAY_URL/],
      [['nope', ...oracle], /nope/],
      [['missing.jsonl', ...oracle], /There is no file "missing.jsonl"/],
      [['broken.jsonl', ...oracle], /^proctor: broken\.jsonl:1: /],
      [[file, ...oracle, '--only', 'tags=x'], /tag=/],
      [[file, ...oracle, '--only', 'ids=zz'], /zz/],
      [[file, ...oracle, '--only', 'tag=zz'], /No task of 2 is left/],
      [[file, ...oracle, '--only', 'failed', '--only', 'errored'], /take one of them/],
      [[file, ...oracle, '--budget', '5'], /amount such as 5usd/],
      [[file, '--model', 'unpriced', '--budget', '5usd'], /budget\.usd needs the price of every model.*"unpriced"/],
      [[file, ...oracle, '-n', '0'], /from 1 to 1000/],
      [[file, ...oracle, '--metadata', 'x'], /name=value/],
      [[file, ...oracle, '--servce', 'x'], /Did you mean --service\?/],
      [['show', 'nope'], /There is no evaluation "nope"/],
      [['show', 'last'], /There is no evaluation yet/],
      [['show', `eval_${'0'.repeat(32)}`], /eval_0000/],
    ];
    const left = rows.values();
    const next = async () => {
      for (const [args, message] of left) {
        const { code, stdout, stderr } = await evaluate(args, project);
        expect([args, code, stdout]).toEqual([args, 2, '']);
        expect(stderr).toMatch(message);
        expect(stderr).not.toMatch(/^\s+at /m);
      }
    };
    await Promise.all([next(), next(), next()]);
    expect(await tracesOf(project.cwd)).toEqual([]);
    expect(JSON.parse((await evaluate(['list', '--json'], project)).stdout)).toMatchObject({ data: [] });
  });

  it('names file, line and field of each task that is wrong, at most 20 of them', async () => {
    const tasks = [
      ...counting(1, 2),
      { ...counting(3)[0], id: 't2' },
      { id: 'x', env: 'counter', scenario: 'count_to', args: { target: -1 } },
    ];
    const { file, ...project } = projectWith(tasks as never, 'counter');
    const { code, stderr } = await evaluate([file, '--model', 'proctor/oracle'], project);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^proctor: tasks\.jsonl:3: id: .*"t2".*line 2/)]);
    writeTasks(
      project.cwd,
      file,
      Array.from({ length: 60 }, (_, index) => ({ ...counting(-1)[0], id: `n${index}` })) as never,
    );
    const many = await evaluate([file, '--model', 'proctor/oracle'], project);
    expect(many.stderr).toMatch(/^proctor: tasks\.jsonl:1: args\.target: /);
    expect(many.stderr.trim().split('\n').length).toBeLessThanOrEqual(21);
    expect(many.code).toBe(2);
  });

  it('finds the one bad line among 100,000 before anything runs', async () => {
    const { cwd } = projectWith([], 'counter');
    const lines = Array.from({ length: 100_000 }, (_, index) =>
      JSON.stringify({ ...counting(1)[0], id: `n${index + 1}` }),
    );
    lines[4_710] = '{"id":"n4711","env":"counter","scenario":"count_to","args":{"target":"many"}}';
    writeFileSync(join(cwd, 'large.jsonl'), lines.join('\n'));
    const { code, stderr } = await evaluate(['large.jsonl', '--model', 'proctor/oracle'], { cwd });
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^proctor: large\.jsonl:4711: args\.target: .*"many"/)]);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
