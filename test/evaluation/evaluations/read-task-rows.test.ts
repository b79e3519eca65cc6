import { describe, expect, it } from 'vitest';
import { type TaskRow, taskListSchema } from '../../../src/contract/service/evaluation.ts';
import { readTaskRows, type TaskRowsQuery } from '../../../src/evaluation/evaluations/report/read-task-rows.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { eachDatabase, type GivenTask, openInMemory, writeEvaluation } from './evaluation-rows.ts';

const TASKS: readonly GivenTask[] = [
  { id: 'a', cluster: 'c', results: { x: [1, 0.5, 'invalid'], y: [0, 0] } },
  { id: 'b', results: { x: [{ outcome: 'limit', reward: 0 }, { state: 'running' }] } },
  { id: 'c "\u{1F600}', results: { y: [1, 1, 1] } },
];

async function allPages(database: Database, query: TaskRowsQuery): Promise<TaskRow[]> {
  const rows: TaskRow[] = [];
  let cursor: string | undefined;
  do {
    const page = taskListSchema.parse(await readTaskRows(database, { ...query, cursor }));
    expect(page.data.length).toBeLessThanOrEqual(query.limit ?? 100);
    rows.push(...page.data);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}

describe.each(eachDatabase())('rows of tasks on %s', (_name, open) => {
  it('say what each model reached, in order of task and model, what has not begun too', async () => {
    const database = await open();
    const evaluationId = await writeEvaluation(database, { tasks: TASKS, status: 'running' });
    const { data, next_cursor } = taskListSchema.parse(await readTaskRows(database, { evaluationId }));
    expect(next_cursor).toBeNull();
    expect(data.map(({ task_id, model }) => `${task_id} ${model}`)).toEqual([
      'a x',
      'a y',
      'b x',
      'b y',
      'c "\u{1F600} x',
      'c "\u{1F600} y',
    ]);
    expect(data[0]).toEqual({
      task_id: 'a',
      model: 'x',
      cluster: 'c',
      attempts: 3,
      valid: 2,
      mean: 0.75,
      passed: 1,
      pass_rate: 0.5,
      outcomes: { graded: 2, invalid: 1 },
    });
    expect(data[2]).toMatchObject({ cluster: 'b', valid: 1, mean: 0, passed: 0, outcomes: { limit: 1 } });
    expect(data[3]).toMatchObject({ attempts: 3, valid: 0, mean: null, pass_rate: null, outcomes: {} });
  });

  it.each([1, 2, 4, 5])('come in pages of %d without a gap or a repeat, also of one model', async (limit) => {
    const database = await open();
    const evaluationId = await writeEvaluation(database, { tasks: TASKS });
    const { data } = await readTaskRows(database, { evaluationId });
    expect(await allPages(database, { evaluationId, limit })).toEqual(data);
    expect(await allPages(database, { evaluationId, limit, model: 'y' })).toEqual(
      data.filter(({ model }) => model === 'y'),
    );
  });

  it('are those of one task where it is asked for', async () => {
    const database = await open();
    const evaluationId = await writeEvaluation(database, { tasks: TASKS });
    const { data } = await readTaskRows(database, { evaluationId });
    const ofOne = async (taskId: string) => await allPages(database, { evaluationId, taskId, limit: 1 });
    expect(await ofOne('b')).toEqual(data.slice(2, 4));
    expect(await ofOne('c "\u{1F600}')).toEqual(data.slice(4));
    expect(await ofOne("' or 1=1 --")).toEqual([]);
    expect(await allPages(database, { evaluationId, model: 'none' })).toEqual([]);
  });
});

describe('a list of tasks', () => {
  it('counts what never began by how the evaluation ended', async () => {
    const database = await openInMemory();
    const evaluationId = await writeEvaluation(database, { tasks: TASKS, status: 'cancelled' });
    const { data } = await readTaskRows(database, { evaluationId });
    expect(data[1]?.outcomes).toEqual({ graded: 2, cancelled: 1 });
    expect(data[3]?.outcomes).toEqual({ cancelled: 3 });
  });

  it('refuses a limit out of range and a cursor of another list', async () => {
    const database = await openInMemory();
    const evaluationId = await writeEvaluation(database, { tasks: TASKS });
    for (const limit of [0, -1, 1_001, 1.5]) {
      await expect(readTaskRows(database, { evaluationId, limit })).rejects.toMatchObject({ param: 'limit' });
    }
    const { next_cursor } = await readTaskRows(database, { evaluationId, limit: 1 });
    const cursor = next_cursor ?? '';
    const other = await writeEvaluation(database, { tasks: TASKS });
    const wrong = [
      { evaluationId: other, cursor },
      { evaluationId, cursor, model: 'x' },
      { evaluationId, cursor: 'x' },
      { evaluationId, cursor: '' },
    ];
    for (const query of wrong) {
      await expect(readTaskRows(database, query)).rejects.toMatchObject({ code: 'invalid_parameter', param: 'cursor' });
    }
  });
});
