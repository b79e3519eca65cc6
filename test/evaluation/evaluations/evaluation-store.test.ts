import { describe, expect, it } from 'vitest';
import { until } from '../../until.ts';
import { ACCOUNT, type EvaluationParts, end, failedAt, newEvaluation, openEvaluations, queued } from './parts.ts';

async function completed(parts: EvaluationParts, id: string): Promise<void> {
  await until(async () => {
    await end(parts);
    expect(await parts.evaluations.status(ACCOUNT, id)).toBe('completed');
  });
}

/** The rows of an evaluation that is completed, all of them graded. */
async function createCompleted(parts: EvaluationParts, given: Parameters<typeof newEvaluation>[0] = {}) {
  const { evaluationId } = await parts.evaluations.create(newEvaluation(given));
  await completed(parts, evaluationId);
  return evaluationId;
}

async function countRows({ database }: EvaluationParts) {
  const count = async (table: 'evaluations' | 'evaluation_tasks' | 'evaluation_attempts' | 'traces' | 'queue') =>
    (await database.kysely.selectFrom(table).selectAll().execute()).length;
  return {
    evaluations: await count('evaluations'),
    tasks: await count('evaluation_tasks'),
    attempts: await count('evaluation_attempts'),
    traces: await count('traces'),
    queue: await count('queue'),
  };
}

describe('the identity of an evaluation', () => {
  it('lets the same command go on, whatever its attempts, concurrency, budget and metadata are', async () => {
    const parts = await openEvaluations();
    const first = await parts.evaluations.create(newEvaluation({ models: ['b', 'a'] }), { resume: true });
    const again = await parts.evaluations.create(
      newEvaluation({ models: ['a', 'b'], attempts: 3, concurrency: 7, metadata: { by: 'me' } }),
      { resume: true },
    );
    expect(first.isNew).toBe(true);
    expect(again).toMatchObject({ evaluationId: first.evaluationId, isNew: false });
    expect(await parts.evaluations.get(ACCOUNT, first.evaluationId)).toMatchObject({ attempts: 3, concurrency: 7 });
    const fewer = await parts.evaluations.create(newEvaluation({ models: ['a', 'b'] }), { resume: true });
    expect(fewer.evaluationId).toBe(first.evaluationId);
    expect(await parts.evaluations.get(ACCOUNT, first.evaluationId)).toMatchObject({ attempts: 3, concurrency: 7 });
  });

  it.each([
    ['tasks', { tasks: 6 }],
    ['name', { name: 'other' }],
    ['seed', { seed: 1 }],
    ['steps', { maxSteps: 3 }],
    ['threshold', { passThreshold: 0.5 }],
    ['account', { account: 'other' }],
    ['sampling', { sampling: { temperature: 0 } }],
  ])('is another one with other %s', async (_what, given) => {
    const parts = await openEvaluations();
    await parts.evaluations.create(newEvaluation(), { resume: true });
    expect(await parts.evaluations.create(newEvaluation(given), { resume: true })).toMatchObject({ isNew: true });
  });

  it('is not asked about without resume', async () => {
    const parts = await openEvaluations();
    await parts.evaluations.create(newEvaluation());
    expect(await parts.evaluations.create(newEvaluation())).toMatchObject({ isNew: true });
  });

  it('makes one evaluation of two commands that begin at once', async () => {
    const parts = await openEvaluations();
    const created = await Promise.all(
      Array.from({ length: 4 }, () => parts.evaluations.create(newEvaluation(), { resume: true })),
    );
    expect(new Set(created.map(({ evaluationId }) => evaluationId)).size).toBe(1);
    expect((await countRows(parts)).tasks).toBe(5);
  });

  it('leaves a cancelled evaluation behind, and sets a paused one running', async () => {
    const parts = await openEvaluations();
    const { evaluationId: first } = await parts.evaluations.create(newEvaluation());
    await parts.evaluations.pause(ACCOUNT, first);
    expect(await parts.evaluations.create(newEvaluation(), { resume: true })).toMatchObject({
      evaluationId: first,
      status: 'running',
    });
    await parts.evaluations.cancel(ACCOUNT, first);
    expect(await parts.evaluations.create(newEvaluation(), { resume: true })).toMatchObject({ isNew: true });
  });
});

describe('control of an evaluation', () => {
  it('pauses: what runs goes on to its end, and nothing begins', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const { evaluationId } = await parts.evaluations.create(newEvaluation({ concurrency: 2 }));
    await until(async () => expect(await queued(parts)).toHaveLength(2));
    await parts.evaluations.pause(ACCOUNT, evaluationId);
    await end(parts);
    expect(await queued(parts)).toEqual([]);
    expect(await parts.evaluations.get(ACCOUNT, evaluationId)).toMatchObject({
      status: 'paused',
      progress: { done: 2, total: 5, running: 0 },
    });
    await parts.evaluations.resume(ACCOUNT, evaluationId);
    await completed(parts, evaluationId);
  });

  it('cancels what is queued at once, asks workers to end what runs, and counts the rest', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const { evaluationId } = await parts.evaluations.create(newEvaluation({ concurrency: 3 }));
    await until(async () => expect(await queued(parts)).toHaveLength(3));
    const [lease] = await parts.queue.lease('worker');
    await parts.store.append(lease?.traceId ?? '', 1, [
      {
        type: 'run.started',
        worker: 'worker',
        versions: { proctor: '', environment: null, environment_hash: null, protocol: null, node: '' },
      },
    ]);
    // Attempts that no worker has taken wait: they do not run.
    const begun = await parts.evaluations.get(ACCOUNT, evaluationId);
    expect(begun.progress).toMatchObject({ done: 0, running: 1, queued: 2 });
    await parts.evaluations.cancel(ACCOUNT, evaluationId);
    expect(await queued(parts)).toEqual([lease?.traceId]);
    expect(await parts.store.row(lease?.traceId ?? '')).toMatchObject({ cancelRequested: true, status: 'running' });
    const cancelled = await parts.evaluations.get(ACCOUNT, evaluationId);
    expect(cancelled).toMatchObject({ status: 'cancelled', progress: { done: 5, running: 1 } });
    await parts.store.append(lease?.traceId ?? '', 1, [failedAt('environment')]);
    const ended = await parts.evaluations.get(ACCOUNT, evaluationId);
    expect(ended.progress).toMatchObject({ running: 0, total: 5, done: 5 });
  });

  it.each(['pause', 'resume', 'cancel'] as const)('refuses %s of one that has ended', async (verb) => {
    const parts = await openEvaluations();
    parts.drive();
    const id = await createCompleted(parts);
    await expect(parts.evaluations[verb](ACCOUNT, id)).rejects.toMatchObject({ code: 'evaluation_finished' });
  });

  it('refuses everything that would go on with a cancelled one', async () => {
    const parts = await openEvaluations();
    const { evaluationId: id } = await parts.evaluations.create(newEvaluation());
    await parts.evaluations.cancel(ACCOUNT, id);
    const refused = { code: 'evaluation_finished' };
    await expect(parts.evaluations.rerun(ACCOUNT, id, ['infra_error'])).rejects.toMatchObject(refused);
    await expect(parts.evaluations.patch(ACCOUNT, id, { attempts: 3 })).rejects.toMatchObject(refused);
    await expect(parts.evaluations.resume(ACCOUNT, id)).rejects.toMatchObject(refused);
  });

  it('adds attempts to a completed one, and takes none away', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const id = await createCompleted(parts, { tasks: 2 });
    await expect(parts.evaluations.patch(ACCOUNT, id, { attempts: 0 })).rejects.toMatchObject({
      code: 'invalid_parameter',
      param: 'attempts',
    });
    await parts.evaluations.patch(ACCOUNT, id, { attempts: 3 });
    expect(await parts.evaluations.status(ACCOUNT, id)).toBe('running');
    await completed(parts, id);
    expect(await parts.evaluations.get(ACCOUNT, id)).toMatchObject({
      attempts: 3,
      progress: { done: 6, total: 6, outcomes: { graded: 6 } },
    });
  });

  it('refuses more attempts in all than one evaluation has', async () => {
    const parts = await openEvaluations();
    const { evaluationId } = await parts.evaluations.create(
      newEvaluation({ tasks: 1_001, models: ['a'], attempts: 10 }),
    );
    await expect(parts.evaluations.patch(ACCOUNT, evaluationId, { attempts: 1_000 })).rejects.toMatchObject({
      code: 'invalid_parameter',
      param: 'attempts',
    });
  });

  it('runs again what has no reward, also after its reruns were used up, and never what has one', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const { evaluationId: id } = await parts.evaluations.create(newEvaluation({ tasks: 2 }));
    await until(async () => expect(await end(parts, failedAt('model', 401), 1)).toBe(1));
    await completed(parts, id);
    await expect(parts.evaluations.rerun(ACCOUNT, id, ['infra_error', 'limit'])).rejects.toMatchObject({
      code: 'invalid_parameter',
      param: 'outcomes',
    });
    await parts.evaluations.rerun(ACCOUNT, id, ['infra_error']);
    expect(await parts.evaluations.status(ACCOUNT, id)).toBe('completed');
    await parts.evaluations.rerun(ACCOUNT, id, ['model_error']);
    expect(await parts.evaluations.status(ACCOUNT, id)).toBe('running');
    await completed(parts, id);
    const { progress } = await parts.evaluations.get(ACCOUNT, id);
    expect(progress).toMatchObject({ done: 2, reruns: 1, outcomes: { graded: 2 } });
  });

  it('has no budget in US dollars where a model has no price', async () => {
    const parts = await openEvaluations();
    const refused = { code: 'invalid_parameter', param: 'budget.usd' };
    const unpriced = newEvaluation({ models: ['one', 'unpriced'], budget: { usd: 1 } });
    await expect(parts.evaluations.create(unpriced)).rejects.toMatchObject(refused);
    const { evaluationId } = await parts.evaluations.create({ ...unpriced, budget: { tokens: 5 } });
    await expect(parts.evaluations.patch(ACCOUNT, evaluationId, { budget: { usd: 1 } })).rejects.toMatchObject(refused);
  });

  it('ends over its budget: the rest does not begin, until the budget is raised', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const { evaluationId: id } = await parts.evaluations.create(
      newEvaluation({ tasks: 5, concurrency: 2, budget: { tokens: 1_000 } }),
    );
    await until(async () => expect(await queued(parts)).toHaveLength(2));
    const error = { boundary: 'model', code: 'over_budget', message: 'The budget is used up.' } as const;
    const unpaid = { type: 'run.finished', status: 'failed', stop_reason: 'error', reward: null, error } as const;
    expect(await end(parts, unpaid, 1)).toBe(1);
    expect(await end(parts)).toBe(1);
    await until(async () => expect(await parts.evaluations.status(ACCOUNT, id)).toBe('completed'));
    expect((await parts.evaluations.get(ACCOUNT, id)).progress).toMatchObject({
      done: 5,
      outcomes: { graded: 1, over_budget: 4 },
    });
    const { data } = await parts.evaluations.attempts(ACCOUNT, id, { outcome: 'over_budget' });
    expect(data.map(({ trace_id }) => trace_id)).toEqual([expect.any(String), null, null, null]);

    await parts.evaluations.patch(ACCOUNT, id, { budget: { tokens: 500 } });
    expect(await parts.evaluations.status(ACCOUNT, id)).toBe('completed');
    await parts.evaluations.patch(ACCOUNT, id, { budget: { tokens: 2_000 } });
    await completed(parts, id);
    expect((await parts.evaluations.get(ACCOUNT, id)).progress).toMatchObject({ outcomes: { graded: 5 }, reruns: 1 });
  });

  it('deletes everything that belongs to it while it runs, and nothing else', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const other = await createCompleted(parts, { name: 'other', tasks: 2 });
    const { evaluationId: id } = await parts.evaluations.create(newEvaluation({ tasks: 50, concurrency: 5 }));
    await until(async () => expect(await end(parts, failedAt('environment'), 2)).toBe(2));
    await parts.evaluations.remove(ACCOUNT, id);
    await expect(parts.evaluations.get(ACCOUNT, id)).rejects.toMatchObject({ code: 'evaluation_not_found' });
    expect(await countRows(parts)).toEqual({ evaluations: 1, tasks: 2, attempts: 2, traces: 2, queue: 0 });
    expect(await parts.evaluations.get(ACCOUNT, other)).toMatchObject({ progress: { done: 2 } });
  });

  it('finishes a deletion that was cut off', async () => {
    const parts = await openEvaluations();
    const driver = parts.drive();
    const id = await createCompleted(parts);
    await driver.stop();
    await parts.database.kysely.updateTable('evaluations').set({ status: 'deleted' }).execute();
    await expect(parts.evaluations.status(ACCOUNT, id)).rejects.toMatchObject({ code: 'evaluation_not_found' });
    expect((await parts.evaluations.list(ACCOUNT)).data).toEqual([]);
    parts.drive();
    await until(async () =>
      expect(await countRows(parts)).toEqual({ evaluations: 0, tasks: 0, attempts: 0, traces: 0, queue: 0 }),
    );
  });
});

describe('lists of an evaluation', () => {
  it('have attempts that have begun and those that have not, by task, model and attempt, page by page', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const { evaluationId: id } = await parts.evaluations.create(
      newEvaluation({ tasks: 3, models: ['a', 'b'], attempts: 2, concurrency: 3 }),
    );
    await until(async () => expect(await queued(parts)).toHaveLength(3));
    const all = (await parts.evaluations.attempts(ACCOUNT, id)).data;
    expect(all.map(({ task_id, model, attempt_index }) => `${task_id} ${model} ${attempt_index}`)).toEqual(
      ['task-000', 'task-001', 'task-002'].flatMap((task) =>
        ['a', 'b'].flatMap((model) => [1, 2].map((attempt) => `${task} ${model} ${attempt}`)),
      ),
    );
    expect(all.filter(({ trace_id }) => trace_id !== null)).toHaveLength(3);
    const paged = [];
    for (let cursor: string | undefined; ; ) {
      const page = await parts.evaluations.attempts(ACCOUNT, id, { limit: 5, cursor });
      paged.push(...page.data);
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    expect(paged).toEqual(all);
  });

  it('are filtered by model, task and outcome', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const id = await createCompleted(parts, { tasks: 3, models: ['a', 'b'], attempts: 2 });
    const ofModel = (await parts.evaluations.attempts(ACCOUNT, id, { model: 'b', limit: 4 })).data;
    expect(ofModel.map(({ model, task_id }) => [model, task_id])).toEqual([
      ['b', 'task-000'],
      ['b', 'task-000'],
      ['b', 'task-001'],
      ['b', 'task-001'],
    ]);
    const ofTask = (await parts.evaluations.attempts(ACCOUNT, id, { task_id: 'task-001' })).data;
    expect(ofTask).toHaveLength(4);
    expect((await parts.evaluations.attempts(ACCOUNT, id, { task_id: 'none' })).data).toEqual([]);
    expect((await parts.evaluations.attempts(ACCOUNT, id, { outcome: 'graded' })).data).toHaveLength(12);
    expect((await parts.evaluations.attempts(ACCOUNT, id, { outcome: 'over_budget' })).data).toEqual([]);
    await expect(parts.evaluations.attempts(ACCOUNT, id, { model: 'c' })).rejects.toMatchObject({ param: 'model' });
  });

  it('keep their rows when old traces are deleted', async () => {
    const parts = await openEvaluations();
    parts.drive();
    const id = await createCompleted(parts, { tasks: 1 });
    const [attempt] = (await parts.evaluations.attempts(ACCOUNT, id)).data;
    await parts.store.remove(attempt?.trace_id ?? '');
    expect((await parts.evaluations.attempts(ACCOUNT, id)).data).toMatchObject([{ outcome: 'graded', reward: 1 }]);
    expect((await parts.evaluations.get(ACCOUNT, id)).reports).toMatchObject([{ mean: 1 }]);
  });

  it('show evaluations newest first, page by page, of one account alone', async () => {
    const parts = await openEvaluations();
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      parts.clock += 1_000;
      ids.unshift((await parts.evaluations.create(newEvaluation({ name: `n${index}` }))).evaluationId);
    }
    await parts.evaluations.create(newEvaluation({ account: 'other' }));
    const first = await parts.evaluations.list(ACCOUNT, { limit: 3 });
    const second = await parts.evaluations.list(ACCOUNT, { limit: 3, cursor: first.next_cursor ?? '' });
    expect([...first.data, ...second.data].map(({ evaluation_id }) => evaluation_id)).toEqual(ids);
    expect(second.next_cursor).toBeNull();
    expect((await parts.evaluations.list(ACCOUNT, { name: 'n1' })).data).toHaveLength(1);
    await expect(parts.evaluations.list(ACCOUNT, { cursor: 'x' })).rejects.toMatchObject({ param: 'cursor' });
    await expect(parts.evaluations.get('other', ids[0] ?? '')).rejects.toMatchObject({ code: 'evaluation_not_found' });
  });
});
