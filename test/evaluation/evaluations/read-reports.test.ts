import { describe, expect, it } from 'vitest';
import { type Report, reportSchema } from '../../../src/contract/service/evaluation.ts';
import { readReports } from '../../../src/evaluation/evaluations/report/read-reports.ts';
import { createSeededRandom } from '../../../src/models/gateway/reference/seeded-random.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { A, B, CLUSTERS, expectClose } from '../statistics/vectors.ts';
import { eachDatabase, type GivenAttempt, type GivenTask, openInMemory, writeEvaluation } from './evaluation-rows.ts';

async function readOne(database: Database, tasks: readonly GivenTask[], more = {}): Promise<Report> {
  const [report] = await readReports(database, await writeEvaluation(database, { tasks, ...more }));
  return reportSchema.parse(report);
}

function tasksOf(
  model: string,
  rewards: readonly (readonly GivenAttempt[])[],
  clusters?: readonly string[],
): GivenTask[] {
  return rewards.map((results, index) => ({
    id: `t${String(index).padStart(4, '0')}`,
    ...(clusters === undefined ? {} : { cluster: clusters[index] ?? '' }),
    results: { [model]: results },
  }));
}

describe.each(eachDatabase())('reports on %s', (_name, open) => {
  it('have the figures of the reference, a report for each model in their order', async () => {
    const database = await open();
    const tasks = A.map((reward, index) => ({
      id: `t${index}`,
      cluster: CLUSTERS[index] ?? '',
      results: { a: [reward], b: [B[index] ?? 0] },
    }));
    const [a, b] = await readReports(database, await writeEvaluation(database, { tasks }));
    expect([a?.model, b?.model]).toEqual(['a', 'b']);
    expectClose([a?.mean ?? 0, a?.stderr ?? 0, ...(a?.ci95 ?? [])], [0.7, 0.084853, 0.429960476413, 0.970039523587]);
    expectClose([b?.mean ?? 0, b?.stderr ?? 0], [0.4, 0.169705627485]);
    expectClose(a?.smallest_detectable_difference ?? 0, 2.801585 * Math.SQRT2 * 0.0848528137423857);
    // In clusters of several tasks a rate has no interval of Wilson.
    expectClose(a?.pass_rate.ci95 ?? [], [0.429960476413, 0.970039523587]);
  });

  it('take the mean of task means, however many attempts of a task are valid', async () => {
    const database = await open();
    const tasks = tasksOf('m', [[1, 1, 1, 0], [0, 'infra_error', 'invalid', 'model_error'], ['grader_error']]);
    const report = await readOne(database, tasks, { attempts: 4, status: 'completed' });
    expect(report).toMatchObject({ n_tasks: 3, n_attempts: 12, mean: 0.375, coverage: 5 / 12 });
    expect(report.mean_missing_as_zero).toBeCloseTo(3 / 12, 12);
    expect(report.pass_rate.value).toBe(0.375);
    expect(report.pass_at_k).toEqual({
      1: { value: 0.375, tasks: 2, left_out: 1 },
      2: { value: 1, tasks: 1, left_out: 2 },
      4: { value: 1, tasks: 1, left_out: 2 },
    });
    expect(report.pass_hat_k).toMatchObject({ 2: { value: 0.5, tasks: 1 }, 4: { value: 0, tasks: 1 } });
  });

  it('count every outcome, and those that never began by how the evaluation ended', async () => {
    const database = await open();
    const results: GivenAttempt[] = [
      1,
      { outcome: 'limit', reward: 0.5 },
      { outcome: 'refused', reward: 0 },
      'invalid',
    ];
    const rest = { completed: { over_budget: 2 }, cancelled: { cancelled: 2 }, running: {}, paused: {} } as const;
    for (const [status, others] of Object.entries(rest)) {
      const report = await readOne(database, tasksOf('m', [results]), { attempts: 6, status });
      expect(report.outcomes, status).toEqual({ graded: 1, limit: 1, refused: 1, invalid: 1, ...others });
      expect(report.coverage).toBe(0.5);
    }
  });

  it('leave attempts out that are not done, with what an earlier run of them was', async () => {
    const database = await open();
    const waiting = { state: 'waiting', outcome: 'infra_error', steps: 3, total_tokens: 5, rerun: 1 } as const;
    const running = { state: 'running', rerun: 2, earlier_usd: 0.5, earlier_tokens: 7, started_at: 100 } as const;
    const report = await readOne(database, tasksOf('m', [[1, waiting, running]]), { status: 'running' });
    expect(report).toMatchObject({ outcomes: { graded: 1 }, coverage: 1 / 3, reruns: 3, mean: 1 });
  });

  it('add up tokens, costs and times, and know no cost where a price is missing', async () => {
    const database = await open();
    const attempt = (fields: object) => ({ outcome: 'graded', reward: 1, steps: 1, ...fields }) as const;
    const known = [
      attempt({
        cost_usd: 0.25,
        prompt_tokens: 10,
        completion_tokens: 2,
        total_tokens: 12,
        started_at: 1_000,
        finished_at: 4_000,
      }),
      attempt({ cost_usd: 0.5, total_tokens: 5, rerun: 2, earlier_usd: 0.125, started_at: 2_000, finished_at: 9_500 }),
      // It failed before it called a model.
      { outcome: 'infra_error' } as const,
    ];
    const report = await readOne(database, tasksOf('m', [known]));
    expect(report).toMatchObject({
      tokens: { prompt: 10, completion: 2, total: 17 },
      cost: { agent: 0.75, user: 0, judge: 0, total: 0.75 },
      reruns: 2,
      reruns_cost: 0.125,
      wall_ms: 8_500,
    });
    const unknown = await readOne(database, tasksOf('m', [[...known, attempt({ rerun: 1 })]]));
    expect(unknown).toMatchObject({ cost: { agent: null, total: null }, reruns_cost: null });
  });

  it('have the median and the 95th percentile of attempts with a reward', async () => {
    const database = await open();
    const attempts = Array.from({ length: 20 }, (_, index) => ({
      outcome: 'graded' as const,
      reward: 0,
      steps: 20 - index,
      duration_ms: index * 100_000_000,
    }));
    const report = await readOne(database, tasksOf('m', [[...attempts, { outcome: 'infra_error', steps: 99 }]]));
    expect(report.steps).toEqual({ median: 10.5, p95: 19.05 });
    expect(report.duration_ms).toEqual({ median: 950_000_000, p95: 1_805_000_000 });
  });

  it('are the same as counting every attempt by hand gives, for evaluations of any make', async () => {
    const database = await open();
    for (let seed = 1; seed <= 12; seed++) {
      const given = drawEvaluation(seed);
      const reports = await readReports(database, await writeEvaluation(database, given));
      for (const report of reports) expectSame(report, byHand(report.model, given), `seed ${seed}, ${report.model}`);
    }
  });

  it('say that there is no evaluation, also of one that is being deleted', async () => {
    const database = await open();
    const deleted = await writeEvaluation(database, { tasks: tasksOf('m', [[1]]), status: 'deleted' });
    for (const id of [deleted, 'eval_none', '']) {
      await expect(readReports(database, id)).rejects.toMatchObject({ code: 'evaluation_not_found' });
    }
  });
});

describe('an evaluation that is deleted while it is read', () => {
  it('is not found, instead of having a report of nothing', async () => {
    const database = await openInMemory();
    const id = await writeEvaluation(database, { tasks: tasksOf('m', [[1]]) });
    const deleting: Promise<unknown>[] = [];
    const reading = readReports(
      {
        ...database,
        get scans() {
          if (deleting.length === 0) {
            deleting.push(database.kysely.deleteFrom('evaluations').where('evaluation_id', '=', id).execute());
          }
          return database.scans;
        },
      },
      id,
    );
    await expect(reading).rejects.toMatchObject({ code: 'evaluation_not_found' });
    await Promise.all(deleting);
  });
});

describe('the edges of a report', () => {
  it('has no mean without a valid attempt, and says how much is missing', async () => {
    const report = await readOne(await openInMemory(), tasksOf('m', [['infra_error'], ['cancelled']]));
    expect(report).toMatchObject({
      mean: null,
      stderr: null,
      ci95: null,
      coverage: 0,
      mean_missing_as_zero: 0,
      pass_rate: { value: null, ci95: null },
      pass_at_k: { 1: { value: null, tasks: 0, left_out: 2 } },
      steps: { median: null, p95: null },
      wall_ms: null,
      smallest_detectable_difference: null,
    });
  });

  it('has no interval with one cluster, of one task or of several', async () => {
    const database = await openInMemory();
    for (const tasks of [tasksOf('m', [[1, 0, 1]]), tasksOf('m', [[1], [0]], ['c', 'c'])]) {
      const report = await readOne(database, tasks);
      expect(report).toMatchObject({ stderr: null, ci95: null, pass_rate: { ci95: null } });
      expect(report.mean).not.toBeNull();
    }
  });

  it('has intervals of width 0 where all task means are equal, whatever the number of their attempts', async () => {
    const report = await readOne(
      await openInMemory(),
      tasksOf('m', [
        [0.1, 0.1, 0.1],
        [0.1, 'invalid'],
        [0.1, 0.1],
      ]),
    );
    expect(report).toMatchObject({ stderr: 0, smallest_detectable_difference: 0 });
    expect(report.ci95).toEqual([report.mean, report.mean]);
    expect(report.mean).toBeCloseTo(0.1, 15);
  });

  it('has the interval of Wilson for a rate of one valid attempt in each cluster alone', async () => {
    const database = await openInMemory();
    const once = A.map((reward) => [reward]);
    expectClose((await readOne(database, tasksOf('m', once))).pass_rate.ci95 ?? [], [0.396778, 0.892209]);
    const twice = await readOne(database, tasksOf('m', [[1, 1], ...once.slice(1)]));
    expectClose(twice.pass_rate.ci95 ?? [], [0.354449785586, 1.045550214414]);
  });

  it('passes what is at or above the threshold, and takes rewards of any size', async () => {
    const database = await openInMemory();
    const tasks = tasksOf('m', [
      [-2.5, 0.5],
      [3, 0.49999],
    ]);
    const report = await readOne(database, tasks, { passThreshold: 0.5 });
    expect(report).toMatchObject({ pass_rate: { value: 0.5 }, pass_at_k: { 1: { value: 0.5 }, 2: { value: 1 } } });
    expect(report.mean).toBeCloseTo((-1 + 1.749995) / 2, 12);
    const largest = await readOne(
      database,
      tasksOf('m', [
        [1.7e308, 1.7e308],
        [1.7e308, 1.7e308],
      ]),
    );
    expect(largest).toMatchObject({ mean: 1.7e308, coverage: 1 });
    expect(JSON.stringify(largest)).not.toContain('NaN');
  });

  it('takes 1,000 attempts of a task', async () => {
    const results = Array.from({ length: 1_000 }, (_, index) => (index < 640 ? 1 : 0));
    const report = await readOne(await openInMemory(), tasksOf('m', [results, [0]]), { attempts: 1_000 });
    expect(Object.keys(report.pass_at_k)).toEqual(['1', '2', '4', '8', '16', '32', '64', '128', '256', '512']);
    expect(report.pass_hat_k[2]).toMatchObject({ tasks: 1, left_out: 1 });
    expect(report.pass_hat_k[2]?.value).toBeCloseTo((640 * 639) / (1_000 * 999), 12);
  });
});

interface ByHand {
  readonly figures: Pick<Report, 'n_tasks' | 'n_attempts' | 'outcomes' | 'reruns'>;
  readonly numbers: Readonly<Record<'coverage' | 'mean' | 'mean_missing_as_zero' | 'stderr', number>>;
}

function drawEvaluation(seed: number) {
  const random = createSeededRandom(seed);
  const attempts = random.integer(1, 6);
  const models = ['x', 'y', 'z'].slice(0, random.integer(1, 3));
  const drawAttempt = (): GivenAttempt => {
    if (random.chance(0.2)) return random.pick(['infra_error', 'invalid', 'cancelled'] as const);
    const reward = random.pick([0, 1, 0.1, 0.7, -1, random.next()]);
    return { outcome: random.pick(['graded', 'limit', 'agent_error'] as const), reward, rerun: random.integer(0, 2) };
  };
  const tasks: GivenTask[] = Array.from({ length: random.integer(4, 30) }, (_, index) => ({
    id: `task ${index} ${random.pick(['é', '"', "'; --", '\u{1F600}', '%'])}`,
    cluster: random.chance(0.5) ? `c${random.integer(1, 4)}` : `own ${index}`,
    results: Object.fromEntries(models.map((model) => [model, Array.from({ length: attempts }, drawAttempt)])),
  }));
  return { tasks, attempts, models };
}

/** By the formulas of the contract, one after the other. */
function byHand(model: string, { tasks, attempts }: ReturnType<typeof drawEvaluation>): ByHand {
  const all = tasks.map(({ cluster, results }) => ({ cluster, attempts: (results[model] ?? []).map(toPlain) }));
  const valued = all.flatMap(({ cluster, attempts: each }) => {
    const rewards = each.flatMap(({ reward }) => (reward === null ? [] : [reward]));
    return rewards.length === 0 ? [] : [{ cluster, rewards, mean: average(rewards) }];
  });
  const mean = average(valued.map((task) => task.mean));
  const clusters = [...new Set(valued.map(({ cluster }) => cluster))];
  const squares = clusters.map((cluster) => {
    const residuals = valued.filter((task) => task.cluster === cluster).map((task) => task.mean - mean);
    return residuals.reduce((sum, each) => sum + each, 0) ** 2;
  });
  const count = clusters.length;
  const rewards = valued.flatMap((task) => task.rewards);
  const outcomes: Record<string, number> = {};
  for (const { outcome } of all.flatMap((task) => task.attempts)) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  const total = tasks.length * attempts;
  return {
    figures: {
      n_tasks: tasks.length,
      n_attempts: total,
      outcomes,
      reruns: all.flatMap((task) => task.attempts).reduce((sum, { rerun }) => sum + rerun, 0),
    },
    numbers: {
      mean,
      coverage: rewards.length / total,
      mean_missing_as_zero: rewards.reduce((sum, each) => sum + each, 0) / total,
      stderr: Math.sqrt((count / (count - 1)) * squares.reduce((sum, each) => sum + each, 0)) / valued.length,
    },
  };
}

function expectSame(report: Report, { figures, numbers }: ByHand, label: string): void {
  expect(report, label).toMatchObject(figures);
  for (const name of ['coverage', 'mean', 'mean_missing_as_zero', 'stderr'] as const) {
    expect(Math.abs((report[name] ?? Number.NaN) - numbers[name]), `${label}: ${name}`).toBeLessThan(1e-9);
  }
}

function toPlain(given: GivenAttempt) {
  if (typeof given === 'number') return { outcome: 'graded', reward: given, rerun: 0 };
  if (typeof given === 'string') return { outcome: given, reward: null, rerun: 0 };
  return { outcome: given.outcome ?? '', reward: given.reward ?? null, rerun: given.rerun ?? 0 };
}

function average(values: readonly number[]): number {
  return values.reduce((sum, each) => sum + each, 0) / values.length;
}
