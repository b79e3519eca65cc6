import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { start } from '../command.ts';
import { counting, detailOf, evaluate, MANY_COMMANDS, partsOf, projectWith, tracesOf, writeTasks } from './project.ts';

describe('proctor eval', MANY_COMMANDS, () => {
  it('plays every task with every model, and ends with the report on standard output', async () => {
    const { file, ...project } = projectWith(counting(0, 1, 2, 3), 'counter');
    const models = ['--model', 'proctor/oracle', '--model', 'proctor/noop'];
    const { code, stdout, stderr } = await evaluate([file, ...models, '-n', '2', '--name', 'first'], project);
    expect([code, stderr.includes('\u001b')]).toEqual([0, false]);
    expect(stdout).toMatch(
      /^first \(eval_[0-9a-f]{32}\): completed, 16 of 16 attempts\n4 tasks of tasks × 2 attempts × 2 models/,
    );
    expect(stdout).toMatch(/proctor\/noop +0\.25 \[-0\.55, 1\.05\] +25 % +100 %/);
    expect(stdout).toContain('1.00 [1.00, 1.00] over 8 of 8 attempts (coverage 100 %)');
    expect(stdout).toMatch(/pass\^k +1: 25 % {2}2: 25 %/);
    expect(stderr).toMatch(/^\d+ of 16 attempts/m);
    expect(stderr).toMatch(/http:\/\/127\.0\.0\.1:8320\/evaluations\/eval_/);
    expect(stderr).toMatch(/npx proctor eval compare eval_\S+ --a-model proctor\/oracle --b-model proctor\/noop/);
    const traces = await tracesOf(project.cwd);
    expect(new Set(traces.map(({ key }) => key)).size).toBe(16);
    expect(traces).toHaveLength(16);
  });

  it('goes on with the evaluation of the same settings, adds attempts for a larger -n, and begins another with --new', async () => {
    const { file, ...project } = projectWith(counting(1, 2), 'counter');
    const command = [file, '--model', 'proctor/oracle', '--json'];
    const first = detailOf(await evaluate(command, project));
    const same = await evaluate(command, project);
    expect(detailOf(same).evaluation_id).toBe(first.evaluation_id);
    expect(same.stderr).toContain(
      `${first.evaluation_id} is completed: 2 of 2 attempts are done. --new begins another one.`,
    );
    const more = await evaluate([...command, '-n', '3'], project);
    expect(more.stderr).toContain(`Going on with ${first.evaluation_id}: 2 of 6 attempts are done.`);
    expect(detailOf(more)).toMatchObject({ evaluation_id: first.evaluation_id, attempts: 3, progress: { done: 6 } });
    const fewer = detailOf(await evaluate(command, project));
    expect(fewer).toMatchObject({ evaluation_id: first.evaluation_id, attempts: 3 });
    for (const other of [['--new'], ['--name', 'other']]) {
      const detail = detailOf(await evaluate([...command, ...other], project));
      expect([other, detail.evaluation_id === first.evaluation_id]).toEqual([other, false]);
    }
    expect(await tracesOf(project.cwd)).toHaveLength(6 + 2 * 2);
  });

  it('takes the tasks that a scenario declares, and those of all scenarios of an environment', async () => {
    const project = projectWith([], 'counter');
    const detail = detailOf(
      await evaluate(['counter/count_to', '--model', 'proctor/oracle', '--only', 'first=3', '--json'], project),
    );
    expect(detail).toMatchObject({ taskset: { name: 'counter/count_to', tasks: 3 }, reports: [{ mean: 1 }] });
    const all = detailOf(
      await evaluate(['counter', '--model', 'proctor/oracle', '--only', 'sample=4:x', '--json'], project),
    );
    expect(all).toMatchObject({ taskset: { name: 'counter', tasks: 4 }, progress: { done: 4 } });
  });

  it('prefers a file to a name, and reaches a taskset that is named like a sub-command by its path', async () => {
    const project = projectWith([], 'counter');
    mkdirSync(join(project.cwd, 'tasksets'));
    writeTasks(project.cwd, 'tasksets/list.jsonl', counting(1));
    const oracle = ['--model', 'proctor/oracle', '--json'];
    const named = detailOf(await evaluate(['./list', ...oracle], project));
    expect(named.taskset).toMatchObject({ name: 'list', tasks: 1 });
    writeTasks(project.cwd, 'list.jsonl', counting(1, 2));
    const detail = detailOf(await evaluate(['./list.jsonl', ...oracle], project));
    expect(detail.taskset).toMatchObject({ name: 'list', tasks: 2 });
    const listed = await evaluate(['list', '--json'], project);
    expect(JSON.parse(listed.stdout)).toMatchObject({
      object: 'list',
      data: [{ evaluation_id: detail.evaluation_id }, { evaluation_id: named.evaluation_id }],
    });
  });

  it('--only chooses tasks: several hold together, and the version is that of what is left', async () => {
    const tasks = counting(0, 1, 2, 3, 4, 5).map((task, index) => ({
      ...task,
      tags: index % 2 === 0 ? ['even'] : ['odd'],
    }));
    const { file, ...project } = projectWith(tasks, 'counter');
    const play = async (...only: readonly string[]) => {
      const flags = only.flatMap((each) => ['--only', each]);
      return detailOf(await evaluate([file, '--model', 'proctor/oracle', '--json', ...flags], project));
    };
    const all = await play();
    const odd = await play('tag=odd');
    expect(odd.taskset.tasks).toBe(3);
    expect((await play('tag=odd', 'first=2')).taskset.tasks).toBe(2);
    expect((await play('ids=t1,t4')).taskset.tasks).toBe(2);
    const shards = [await play('shard=1/2'), await play('shard=2/2')];
    expect(shards.reduce((sum, { taskset }) => sum + taskset.tasks, 0)).toBe(6);
    expect(new Set([all, odd, ...shards].map(({ taskset }) => taskset.version)).size).toBe(4);
    const traces = await tracesOf(project.cwd);
    const ofOdd = traces.filter(({ evaluation_id }) => evaluation_id === odd.evaluation_id);
    expect(ofOdd.map(({ task_id }) => task_id).toSorted()).toEqual(['t2', 't4', 't6']);
  });

  it('--only failed begins a new evaluation of the tasks below the threshold, which names the one before', async () => {
    const { file, ...project } = projectWith(counting(0, 1, 2), 'counter');
    const command = [file, '--model', 'proctor/noop', '--json'];
    const none = await evaluate([...command, '--only', 'failed'], project);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('there is none of these settings')]);
    const first = detailOf(await evaluate(command, project));
    const failed = detailOf(await evaluate([...command, '--only', 'failed'], project));
    expect(failed).toMatchObject({ parent: first.evaluation_id, taskset: { tasks: 2 }, reports: [{ mean: 0 }] });
    expect(failed.evaluation_id).not.toBe(first.evaluation_id);
  });

  it('ends with 1 when no attempt has a reward, and says what to do; --only errored runs those again', async () => {
    const { file, ...project } = projectWith([], 'gate');
    writeTasks(project.cwd, file, [{ id: 'a', env: 'gate', scenario: 'pass', args: { file: join(project.cwd, 'a') } }]);
    const command = [file, '--model', 'proctor/oracle'];
    const running = start(['eval', ...command], project);
    await until(async () => (await tracesOf(project.cwd)).some(({ status }) => status === 'running'));
    const { database } = await partsOf(project.cwd);
    await database.kysely.updateTable('traces').set({ cancel_requested: 1 }).execute();
    const { code, stdout, stderr } = await running.ended;
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(
        /: completed, 0 of 1 have a reward; 1 of 1 attempts have ended\n.*outcomes +1 cancelled\n/s,
      ),
    ]);
    expect(stderr).toMatch(
      /^1 attempt cancelled\.\n.*^To run those without a reward again: proctor eval rerun eval_/ms,
    );
    writeFileSync(join(project.cwd, 'a'), '');
    const again = await evaluate([...command, '--only', 'errored', '--json'], project);
    expect([again.code, detailOf(again)]).toMatchObject([
      0,
      { reports: [{ mean: 1 }], progress: { done: 1, reruns: 1 } },
    ]);
    const nothing = await evaluate(['rerun', 'last'], project);
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('there is nothing to run again')]);
  });

  it('prints one JSON object and nothing else with --json, and nothing but the report with -q', async () => {
    const { file, ...project } = projectWith(counting(1, 2), 'counter');
    const json = await evaluate([file, '--model', 'proctor/oracle', '--json', '-q', '--metadata', 'night=1'], project);
    expect(json.stdout.trim()).not.toContain('\n');
    expect([detailOf(json).metadata, json.stderr]).toEqual([{ night: '1' }, '']);
    const quiet = await evaluate([file, '--model', 'proctor/oracle', '--new', '-q'], project);
    expect(quiet.stderr).not.toMatch(/^\d+ of 2 attempts/m);
  });

  it('show, list and compare find evaluations by id, the beginning of one, name and "last"', async () => {
    const { file, ...project } = projectWith(counting(0, 1, 2, 3), 'counter');
    const a = detailOf(await evaluate([file, '--model', 'proctor/noop', '--name', 'old', '--json'], project));
    const b = detailOf(await evaluate([file, '--model', 'proctor/oracle', '--name', 'new', '--json'], project));
    for (const named of [b.evaluation_id, b.evaluation_id.slice(0, 16), b.evaluation_id.slice(5, 17), 'new', 'last']) {
      const shown = detailOf(await evaluate(['show', named, '--json'], project));
      expect([named, shown.evaluation_id]).toEqual([named, b.evaluation_id]);
    }
    const table = await evaluate(['list'], project);
    expect(table.stdout.split('\n').map((line) => line.split(/ {2,}/).at(-1))).toEqual(['NAME', 'new', 'old', '']);
    const tasks = await evaluate(['show', 'old', '--tasks'], project);
    expect(tasks.stdout).toMatch(/TASK +MODEL +MEAN +PASSED +OUTCOMES\nt2 +proctor\/noop +0\.00 +0 % +1 graded\n/);
    const compared = await evaluate(['compare', 'old', 'new'], project);
    expect([compared.code, compared.stdout]).toEqual([
      0,
      expect.stringMatching(
        /^No difference can be told between B \(proctor\/oracle\) and A \(proctor\/noop\): \+0\.75 \[.*3 tasks won, 0 lost, 1 tied\n/,
      ),
    ]);
    expect(compared.stdout).toMatch(/won +t2, t3, t4\n/);
    expect(compared.stderr).toContain(`/evaluations/compare?a=${a.evaluation_id}&b=${b.evaluation_id}`);
    const json = await evaluate(['compare', 'old', 'last', '--json'], project);
    expect(JSON.parse(json.stdout)).toMatchObject({ comparisons: [{ won_count: 3, lost_count: 0, tied_count: 1 }] });
  });
});
