import { describe, expect, it } from 'vitest';
import { progressSchema } from '../../src/contract/evaluation.ts';
import { openDatabase } from '../../src/database/open-database.ts';
import { createProgressReader, readProgress } from '../../src/evaluations/read-progress.ts';
import { eachDatabase, type GivenAttempt, openInMemory, writeEvaluation } from './evaluation-rows.ts';

const RESULTS: readonly GivenAttempt[] = [
  { outcome: 'graded', reward: 1, steps: 1, total_tokens: 10, cost_usd: 0.5 },
  { outcome: 'infra_error', rerun: 3, total_tokens: 1, cost_usd: 0.125, earlier_usd: 0.25, earlier_tokens: 20 },
  { state: 'running', rerun: 1, earlier_usd: 0.0625, earlier_tokens: 4 },
  { state: 'waiting', outcome: 'invalid' },
];

describe.each(eachDatabase())('progress on %s', (_name, open) => {
  it('counts what is done and what runs, and what everything cost, reruns among it', async () => {
    const database = await open();
    const tasks = [
      { id: 't', results: { m: RESULTS } },
      { id: 'u', results: {} },
    ];
    const id = await writeEvaluation(database, { tasks, attempts: 5, status: 'running' });
    expect(progressSchema.parse(await readProgress(database, id))).toEqual({
      done: 2,
      total: 10,
      running: 1,
      reruns: 4,
      outcomes: { graded: 1, infra_error: 1 },
      spent: { usd: 0.9375, tokens: 35 },
    });
  });

  it('is complete once the evaluation has ended', async () => {
    const database = await open();
    const tasks = [{ id: 't', results: { m: [1] } }];
    for (const [status, outcome] of [
      ['completed', 'over_budget'],
      ['cancelled', 'cancelled'],
    ] as const) {
      const progress = await readProgress(database, await writeEvaluation(database, { tasks, attempts: 4, status }));
      expect(progress).toMatchObject({ done: 4, total: 4, running: 0, outcomes: { graded: 1, [outcome]: 3 } });
    }
  });
});

describe('what was spent', () => {
  it('has the settled calls of a budget, which attempts that go on have made too', async () => {
    const database = await openInMemory();
    const tasks = [{ id: 't', results: { m: RESULTS } }];
    const given = { tasks, status: 'running', spentUsd: 2, spentTokens: 9 } as const;
    const progress = await readProgress(database, await writeEvaluation(database, given));
    expect(progress.spent).toEqual({ usd: 2, tokens: 35 });
  });

  it('is not known in money where a call has no price', async () => {
    const database = await openInMemory();
    const tasks = [{ id: 't', results: { m: [...RESULTS, { outcome: 'graded', reward: 1, steps: 2 } as const] } }];
    const { spent } = await readProgress(database, await writeEvaluation(database, { tasks }));
    expect(spent).toEqual({ usd: null, tokens: 35 });
  });
});

describe('progress that is asked for again and again', () => {
  it('is counted again when the answer is 50 times as old as it took, and once for all who ask meanwhile', async () => {
    const database = await openInMemory();
    const id = await writeEvaluation(database, {
      tasks: [{ id: 't', results: { m: [1] } }],
      attempts: 2,
      status: 'running',
    });
    const clock = { now: 0 };
    const read = createProgressReader(database, { now: () => clock.now++ });
    const [first, same] = await Promise.all([read(id), read(id)]);
    expect(same).toBe(first);
    const kept = await read(id);
    expect(kept).toBe(first);
    clock.now += 500;
    expect(await read(id)).not.toBe(first);
  });

  it('is counted again when the evaluation ends or goes on', async () => {
    const database = await openInMemory();
    const id = await writeEvaluation(database, {
      tasks: [{ id: 't', results: { m: [1] } }],
      attempts: 2,
      status: 'running',
    });
    const clock = { now: 0 };
    const read = createProgressReader(database, { now: () => clock.now++ });
    expect(await read(id)).toMatchObject({ done: 1, total: 2 });
    const update = async (values: { status?: string; attempts?: number; finished_at?: number }) =>
      await database.kysely.updateTable('evaluations').set(values).where('evaluation_id', '=', id).execute();
    await update({ status: 'completed', finished_at: 5 });
    expect(await read(id)).toMatchObject({ done: 2 });
    await update({ status: 'running', attempts: 3 });
    expect(await read(id)).toMatchObject({ done: 1, total: 3 });
    await database.kysely.deleteFrom('evaluations').where('evaluation_id', '=', id).execute();
    await expect(read(id)).rejects.toMatchObject({ code: 'evaluation_not_found' });
  });

  it('is counted again after it could not be counted', async () => {
    const database = await openInMemory();
    const id = await writeEvaluation(database, { tasks: [{ id: 't', results: { m: [1] } }] });
    const closed = await openDatabase('sqlite::memory:');
    await closed.close();
    let isBroken = true;
    const read = createProgressReader({
      ...database,
      get scans() {
        return isBroken ? closed.scans : database.scans;
      },
    });
    await expect(read(id)).rejects.toThrow('driver has already been destroyed');
    isBroken = false;
    expect(await read(id)).toMatchObject({ done: 1 });
  });
});
