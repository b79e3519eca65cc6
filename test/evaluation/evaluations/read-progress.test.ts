import { describe, expect, it } from 'vitest';
import { progressSchema } from '../../../src/contract/service/evaluation.ts';
import { readProgress } from '../../../src/evaluation/evaluations/report/read-progress.ts';
import { readReports } from '../../../src/evaluation/evaluations/report/read-reports.ts';
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
      queued: 0,
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

  it('is a sum of money without what rounding left of it', async () => {
    const database = await openInMemory();
    const cents = [0.1, 0.2, 0.3].map((cost_usd) => ({ outcome: 'graded', reward: 1, steps: 1, cost_usd }) as const);
    const id = await writeEvaluation(database, { tasks: [{ id: 't', results: { m: cents } }], attempts: 3 });
    expect((await readProgress(database, id)).spent.usd).toBe(0.6);
    expect((await readReports(database, id))[0]?.cost).toEqual({ agent: 0.6, user: 0, judge: 0, total: 0.6 });
  });

  it('is not known in money where a call has no price', async () => {
    const database = await openInMemory();
    const tasks = [{ id: 't', results: { m: [...RESULTS, { outcome: 'graded', reward: 1, steps: 2 } as const] } }];
    const { spent } = await readProgress(database, await writeEvaluation(database, { tasks }));
    expect(spent).toEqual({ usd: null, tokens: 35 });
  });
});
