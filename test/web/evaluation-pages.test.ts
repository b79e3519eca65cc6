import { describe, expect, it } from 'vitest';
import type { TaskList } from '../../src/contract/service/evaluation.ts';
import type { ComparedTasks, EvaluationData } from '../../src/web/evaluations/evaluation-data.ts';
import { addEvaluation, chanceOf, type MadeUpEvaluation, toRow } from './evaluations.ts';
import { openSite, type Site } from './site.ts';

const THREE: MadeUpEvaluation = {
  name: 'three',
  taskIds: ['alpha', 'beta', 'gamma'],
  models: ['one', 'two'],
  attempts: 2,
  attempt: (task, model, attempt) => {
    if (task === 2) return { outcome: 'model_error', rerun: 3 };
    if (task === 1 && attempt === 2) return { outcome: 'limit', reward: 0.5 };
    return { outcome: 'graded', reward: model === 0 ? 1 : 0 };
  },
};

/** Asks as a signed-in browser. */
async function readerOf(site: Site, account?: string) {
  const cookie = await site.signIn(account);
  return async <T = EvaluationData>(path: string) => {
    const reply = await site.browse(path, { cookie });
    return { status: reply.status, json: reply.json as T, bytes: reply.text.length };
  };
}

describe('GET /data/evaluations/{evaluation_id}', () => {
  it('has a letter, a reward and a trace for each attempt, the mean of each task and model, and counts of all', async () => {
    const site = await openSite();
    const id = await addEvaluation(site.database, THREE);
    const read = await readerOf(site);
    const { json } = await read(`/data/evaluations/${id}`);
    expect(json).toMatchObject({ status: 'completed', done: 12, again_ms: null });
    expect(json.cells).toMatchObject({ attempts: 2, tasks: 3, matched: 3, pass_threshold: 1, shown: ['one', 'two'] });
    const rows = json.cells?.rows.map((row) => [row.id, row.groups.map(({ states, mean }) => [states, mean])]);
    expect(rows).toEqual([
      [
        'alpha',
        [
          ['gg', 1],
          ['gg', 0],
        ],
      ],
      [
        'beta',
        [
          ['gl', 0.75],
          ['gl', 0.25],
        ],
      ],
      [
        'gamma',
        [
          ['mm', null],
          ['mm', null],
        ],
      ],
    ]);
    const [group] = json.cells?.rows[1]?.groups ?? [];
    expect(group?.rewards).toEqual([1, 0.5]);
    expect(group?.traces?.every((trace) => /^[0-9a-f]{32}$/.test(trace ?? ''))).toBe(true);
    expect(json.cells?.models).toEqual([
      { model: 'one', counts: { g: 3, l: 1, m: 2 }, passed: 3, bins: [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 3, 0] },
      { model: 'two', counts: { g: 3, l: 1, m: 2 }, passed: 0, bins: [0, 3, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0] },
    ]);
  });

  it('counts an attempt as passed where the report does, to the last digit of a reward', async () => {
    const site = await openSite();
    const sum = 0.1 + 0.2;
    const id = await addEvaluation(site.database, {
      ...THREE,
      name: 'last digit',
      passThreshold: sum,
      attempt: () => ({ outcome: 'graded', reward: sum }),
    });
    const read = await readerOf(site);
    const page = await read(`/data/evaluations/${id}?outcome=passed`);
    const tasks = await read<TaskList>(`/v1/evaluations/${id}/tasks`);
    expect([page.json.cells?.models[0]?.passed, page.json.cells?.matched]).toEqual([6, 3]);
    expect(page.json.cells?.rows[0]?.groups[0]?.rewards).toEqual([sum, sum]);
    expect(tasks.json.data[0]?.passed).toBe(2);
  });

  it('shows the newest grades, where those are asked for, in its cells and in its counts', async () => {
    const site = await openSite();
    const id = await addEvaluation(site.database, { ...THREE, name: 'graded again' });
    await site.database.kysely
      .updateTable('evaluation_attempts')
      .set({ grade_reward: 0.25, grade_outcome: 'limit' })
      .where('evaluation_id', '=', id)
      .where('task_index', '=', 0)
      .where('model_index', '=', 0)
      .where('attempt_index', '=', 1)
      .execute();
    const read = await readerOf(site);
    const seen = async (query: string) => {
      const { cells } = (await read(`/data/evaluations/${id}${query}`)).json;
      const group = cells?.rows[0]?.groups[0];
      return [group?.states, group?.rewards, group?.mean, cells?.models[0]?.passed, cells?.models[0]?.bins[4]];
    };
    expect(await seen('')).toEqual(['gg', [1, 1], 1, 3, 0]);
    expect(await seen('?grades=current')).toEqual(['lg', [0.25, 1], 0.625, 2, 1]);
  });

  it('has the mean that the report has, for rewards near the largest number too', async () => {
    const site = await openSite();
    const id = await addEvaluation(site.database, {
      ...THREE,
      name: 'large',
      attempt: () => ({ outcome: 'graded', reward: 1.5e308 }),
    });
    const read = await readerOf(site);
    const page = await read(`/data/evaluations/${id}`);
    const tasks = await read<TaskList>(`/v1/evaluations/${id}/tasks`);
    expect(page.json.cells?.rows[0]?.groups[0]?.mean).toBe(1.5e308);
    expect(tasks.json.data[0]?.mean).toBe(1.5e308);
  });

  it('sorts by mean and by difference, and filters by outcome, model, difference and a part of the id', async () => {
    const site = await openSite();
    const id = await addEvaluation(site.database, THREE);
    const read = await readerOf(site);
    const idsOf = async (query: string) => {
      const { json } = await read(`/data/evaluations/${id}?${query}`);
      return json.cells?.rows.map((row) => row.id);
    };
    expect(await idsOf('sort=mean')).toEqual(['alpha', 'beta', 'gamma']);
    expect(await idsOf('sort=mean&model=one')).toEqual(['beta', 'alpha', 'gamma']);
    expect(await idsOf('sort=differs')).toEqual(['alpha', 'beta', 'gamma']);
    expect(await idsOf('differing=true')).toEqual(['alpha', 'beta']);
    expect(await idsOf('differing=true&model=two')).toEqual(['beta']);
    expect(await idsOf('outcome=limit')).toEqual(['beta']);
    expect(await idsOf('outcome=passed&model=two')).toEqual([]);
    expect(await idsOf('outcome=failed')).toEqual(['alpha', 'beta']);
    expect(await idsOf('text=AM')).toEqual(['gamma']);
    expect(await idsOf('offset=1&limit=1')).toEqual(['beta']);
    const unknown = await read(`/data/evaluations/${id}?model=three`);
    expect([unknown.status, unknown.json]).toMatchObject([400, { error: { param: 'model' } }]);
  });

  it('is found by its account alone, and not any more when it is being deleted', async () => {
    const site = await openSite();
    const id = await addEvaluation(site.database, THREE);
    const gone = await addEvaluation(site.database, { ...THREE, name: 'gone', status: 'deleted' });
    const ours = await readerOf(site);
    const theirs = await readerOf(site, 'team');
    expect((await ours(`/data/evaluations/${id}`)).status).toBe(200);
    for (const reply of [
      await theirs(`/data/evaluations/${id}`),
      await ours(`/data/evaluations/${gone}`),
      await ours('/data/evaluations/eval_x'),
    ])
      expect([reply.status, reply.json]).toMatchObject([404, { error: { code: 'evaluation_not_found' } }]);
    expect((await site.browse(`/data/evaluations/${id}`)).status).toBe(401);
  });

  it('counts attempts without a row as not begun, and as over budget or cancelled where it has ended', async () => {
    const site = await openSite();
    const read = await readerOf(site);
    const expected = { running: '.', paused: '.', completed: 'b', cancelled: 'c' };
    for (const [status, letter] of Object.entries(expected)) {
      const none = { ...THREE, name: status, status, attempt: () => undefined };
      const { json } = await read(`/data/evaluations/${await addEvaluation(site.database, none)}`);
      expect([status, json.cells?.models[0]?.counts]).toEqual([status, { [letter]: 6 }]);
    }
  });

  it('says that nothing has changed since a version, and gives what has when an attempt ends', async () => {
    const site = await openSite();
    const running: MadeUpEvaluation = {
      ...THREE,
      status: 'running',
      attempt: (task) => (task === 0 ? { state: 'running' } : undefined),
    };
    const id = await addEvaluation(site.database, running);
    const read = await readerOf(site);
    const first = (await read(`/data/evaluations/${id}`)).json;
    expect(first).toMatchObject({
      status: 'running',
      done: 0,
      cells: { rows: [{ groups: [{ states: 'rr' }, {}] }, {}, {}] },
    });
    expect(first.again_ms).toBeGreaterThanOrEqual(1_000);
    const same = (await read(`/data/evaluations/${id}?since=${first.version}`)).json;
    expect([same.version, same.cells]).toEqual([first.version, undefined]);
    const ended = toRow(id, { task: 0, model: 0, attempt: 1 }, { outcome: 'graded', reward: 1 }, 0);
    await site.database.kysely
      .updateTable('evaluation_attempts')
      .set(ended)
      .where('evaluation_id', '=', id)
      .where('task_index', '=', 0)
      .where('model_index', '=', 0)
      .where('attempt_index', '=', 1)
      .execute();
    const statesSince = async () => {
      const { json } = await read(`/data/evaluations/${id}?since=${first.version}`);
      return [json.done, json.cells?.rows[0]?.groups[0]?.states];
    };
    await expect.poll(statesSince, { timeout: 20_000 }).toEqual([1, 'gr']);
  });

  it('bounds its replies: counts in place of many attempts, fewer rows where there are many models', async () => {
    const site = await openSite();
    const read = await readerOf(site);
    const many = await addEvaluation(site.database, {
      ...THREE,
      name: 'many attempts',
      taskIds: ['a'],
      models: ['one'],
      attempts: 60,
      attempt: (_task, _model, attempt) => ({ outcome: attempt > 50 ? 'refused' : 'graded', reward: attempt % 2 }),
    });
    const [row] = (await read(`/data/evaluations/${many}`)).json.cells?.rows ?? [];
    expect(row?.groups).toEqual([{ mean: 0.5, counts: { g: 50, f: 10 }, passed: 30 }]);
    const wide = await addEvaluation(site.database, {
      ...THREE,
      name: 'many models',
      taskIds: Array.from({ length: 12 }, (_, index) => `task ${index}`),
      models: Array.from({ length: 90 }, (_, index) => `model ${index}`),
      attempts: 8,
      attempt: () => undefined,
      status: 'running',
    });
    const { json, bytes } = await read(`/data/evaluations/${wide}?limit=200`);
    expect(json.cells).toMatchObject({ matched: 12, rows: { length: 8 } });
    expect(bytes).toBeLessThan(400_000);
  });

  it('answers for 12,000 attempts with less than 64 KB', async () => {
    const site = await openSite();
    const id = await addEvaluation(site.database, {
      ...THREE,
      name: 'large',
      taskIds: Array.from({ length: 1_500 }, (_, index) => `task-${String(index).padStart(5, '0')}`),
      attempts: 4,
      attempt: (task, model, attempt) => ({ outcome: 'graded', reward: chanceOf(task, model, attempt) < 0.6 ? 1 : 0 }),
    });
    const read = await readerOf(site);
    const { json, bytes } = await read(`/data/evaluations/${id}?sort=differs`);
    expect(json).toMatchObject({ done: 12_000, cells: { tasks: 1_500, matched: 1_500, rows: { length: 60 } } });
    expect(bytes).toBeLessThan(64 * 1024);
  });
});

describe('GET /data/evaluations/compared', () => {
  it('lists the tasks that b has won, lost or tied, those that differ most first; what differs in content is not paired', async () => {
    const site = await openSite();
    const taskIds = ['changed', 'lost', 'lost much', 'only here', 'tied', 'won'];
    const rewards: Readonly<Record<string, readonly [number, number]>> = {
      changed: [0, 1],
      lost: [1, 0.5],
      'lost much': [1, 0],
      'only here': [1, 1],
      tied: [0.5, 0.5],
      won: [0, 1],
    };
    const made = (name: string, side: 0 | 1, ids: readonly string[]): MadeUpEvaluation => ({
      name,
      taskIds: ids,
      models: ['m'],
      attempts: 1,
      contentOf: (task) => (ids[task] === 'changed' ? name : String(ids[task])),
      attempt: (task) => ({ outcome: 'graded', reward: rewards[ids[task] ?? '']?.[side] ?? 0 }),
    });
    const a = await addEvaluation(site.database, made('a', 0, taskIds));
    const b = await addEvaluation(
      site.database,
      made(
        'b',
        1,
        taskIds.filter((id) => id !== 'only here'),
      ),
    );
    const read = await readerOf(site);
    const listOf = async (kind: string) => {
      const { json } = await read<ComparedTasks>(
        `/data/evaluations/compared?a=${a}&b=${b}&a_model=m&b_model=m&kind=${kind}`,
      );
      return json.rows.map(({ id, difference, ...sides }) => [id, difference, sides.a.rewards, sides.b.rewards]);
    };
    expect(await listOf('won')).toEqual([['won', 1, [0], [1]]]);
    expect(await listOf('lost')).toEqual([
      ['lost much', -1, [1], [0]],
      ['lost', -0.5, [1], [0.5]],
    ]);
    expect(await listOf('tied')).toEqual([['tied', 0, [0.5], [0.5]]]);
    const theirs = await readerOf(site, 'team');
    const hidden = await theirs(`/data/evaluations/compared?a=${a}&b=${b}&a_model=m&b_model=m&kind=won`);
    expect([hidden.status, hidden.json]).toMatchObject([404, { error: { param: 'a' } }]);
  });
});
