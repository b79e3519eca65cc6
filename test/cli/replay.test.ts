import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openParts } from '../service/runs/service.ts';
import { until } from '../until.ts';
import { createProject, proctor, start } from './command.ts';
import { projectWith } from './eval/project.ts';

const root = join(import.meta.dirname, '../..');

/** Another counter in the project, whose calls count one more than they should. */
function writeMiscounting(cwd: string): string {
  mkdirSync(join(cwd, 'node_modules'));
  writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
  symlinkSync(root, join(cwd, 'node_modules', 'proctor'));
  symlinkSync(join(root, 'node_modules', 'zod'), join(cwd, 'node_modules', 'zod'));
  const counter = readFileSync(join(root, 'environments/counter/environment.ts'), 'utf8');
  writeFileSync(join(cwd, 'other.ts'), counter.replace('this.#count += by;', 'this.#count += by + 1;'));
  return './other.ts';
}

async function partsOf(cwd: string) {
  return openParts(`sqlite:${join(cwd, '.proctor', 'proctor.db')}`, onTestFinished);
}

async function newestTrace(cwd: string): Promise<string> {
  const { store } = await partsOf(cwd);
  return (await store.list({})).data[0]?.trace_id ?? '';
}

/** Tasks that take so many milliseconds each. */
function slowTasks(count: number, delay_ms: number) {
  return Array.from({ length: count }, (_, index) => ({
    ...{ id: `s${index}`, env: 'counter', scenario: 'slow_count', args: { target: 1, delay_ms } },
  }));
}

describe('traces from the command line', { timeout: 120_000 }, () => {
  it('proctor replay ends with 0 where nothing differs', async () => {
    const cwd = createProject('counter');
    await proctor(['run', 'counter', 'count_to', '--arg', 'target=3'], { cwd });
    const traceId = await newestTrace(cwd);
    const replayed = await proctor(['replay', traceId], { cwd });
    expect([replayed.code, replayed.stdout]).toEqual([0, 'identical\n']);
    expect(replayed.stderr).toContain('step 1 increment {"by":3}');
    const json = await proctor(['replay', traceId, '--json', '-q'], { cwd });
    expect(JSON.parse(json.stdout)).toMatchObject({
      status: 'completed',
      replay: { identical: true, difference: null },
    });
    const unknown = await proctor(['replay', '0'.repeat(32)], { cwd });
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('There is no trace')]);
  });

  it('proctor replay ends with 1 and tells both observations of a changed tool', async () => {
    const cwd = createProject('counter');
    await proctor(['run', 'counter', 'count_to', '--arg', 'target=3'], { cwd });
    const traceId = await newestTrace(cwd);
    const other = writeMiscounting(cwd);
    const { code, stdout } = await proctor(['replay', traceId, '--environment', other, '-q'], { cwd });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^differs at step 1, call 1\nbefore .*"3".*\nnow {5}.*"4"/);
  });

  it('proctor run --fork goes on with a trace', async () => {
    const cwd = createProject('counter');
    await proctor(['run', 'counter', 'count_to', '--arg', 'target=3', '--model', 'proctor/oracle'], { cwd });
    const traceId = await newestTrace(cwd);
    const forked = await proctor(['run', '--fork', `${traceId}@1`, '--model', 'proctor/noop', '-n', '2'], { cwd });
    expect(forked.code).toBe(0);
    const { store } = await partsOf(cwd);
    const { data } = await store.list({ parent: traceId });
    const parent = { trace_id: traceId, kind: 'fork', after_step: 1 };
    expect(data).toMatchObject([
      { parent, model: 'proctor/noop', reward: 1 },
      { parent, reward: 1 },
    ]);
    const beyond = await proctor(['run', '--fork', `${traceId}@7`], { cwd });
    expect([beyond.code, beyond.stderr]).toEqual([2, expect.stringContaining('Possible: 0 and 1')]);
    const wrong = await proctor(['run', '--fork', 'abc'], { cwd });
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('id of a trace, @ and a step')]);
    const nothing = await proctor(['run'], { cwd });
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('--fork <trace@step>')]);
  });

  it('proctor regrade grades a trace and an evaluation, and says what changed', async () => {
    const { file, ...project } = projectWith(slowTasks(3, 0), 'counter');
    await proctor(['eval', file, '--model', 'proctor/oracle', '--model', 'proctor/noop'], project);
    const all = await proctor(['regrade', 'last', '--json'], project);
    expect([all.code, JSON.parse(all.stdout)]).toMatchObject([
      0,
      { status: 'completed', progress: { total: 6, same: 6 }, models: [{ model: 'proctor/noop' }, {}] },
    ]);
    const one = await proctor(['regrade', await newestTrace(project.cwd)], project);
    expect([one.code, one.stdout]).toEqual([0, '1 as before, 0 changed, 0 differ, 0 failed\n']);
    const [, jobId = ''] = /proctor open (regrade_\w+)/.exec(one.stderr) ?? [];
    const opened = await proctor(['open', jobId], project);
    expect([opened.code, new URL(opened.stdout).pathname]).toEqual([0, `/regrades/${jobId}`]);
  });

  it('a regrade whose process is killed is finished by the next worker, with each grade once', async () => {
    const { file, ...project } = projectWith(slowTasks(24, 400), 'counter');
    await proctor(['eval', file, '--model', 'proctor/oracle'], project);
    const { database, store } = await partsOf(project.cwd);
    const doneRows = async () => {
      const { count } = await database.kysely
        .selectFrom('regrade_rows')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('state', '=', 'done')
        .executeTakeFirstOrThrow();
      return Number(count);
    };
    const killed = start(['regrade', 'last'], project);
    await until(async () => (await doneRows()) > 0, { withinMs: 30_000 });
    killed.process.kill('SIGKILL');
    await killed.ended;
    start(['worker'], project);
    await until(async () => (await doneRows()) === 24, { withinMs: 45_000 });
    const grades = await database.kysely.selectFrom('grades').select(['trace_id', 'number']).execute();
    expect(grades).toHaveLength(24);
    expect(new Set(grades.map(({ number }) => number))).toEqual(new Set([1]));
    const replays = await store.list({ origin: 'replay', limit: 100 });
    expect(replays.data).toHaveLength(24);
    const statuses = async () => await database.kysely.selectFrom('regrades').select('status').execute();
    await until(async () => expect(await statuses()).toEqual([{ status: 'completed' }]));
  });
});
