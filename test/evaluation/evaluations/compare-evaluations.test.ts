import { describe, expect, it } from 'vitest';
import { comparisonListSchema } from '../../../src/contract/service/evaluation.ts';
import {
  type ComparisonQuery,
  compareEvaluations,
} from '../../../src/evaluation/evaluations/report/compare-evaluations.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { A, B, CLUSTERS, expectClose, X, X_CLUSTERS, Y } from '../statistics/vectors.ts';
import { eachDatabase, type GivenAttempt, type GivenTask, openInMemory, writeEvaluation } from './evaluation-rows.ts';

async function compare(database: Database, query: ComparisonQuery) {
  return comparisonListSchema.parse(await compareEvaluations(database, query));
}

/** One model, one attempt of each task. */
function tasksOf(model: string, rewards: readonly GivenAttempt[], clusters?: readonly string[]): GivenTask[] {
  return rewards.map((reward, index) => ({
    id: `t${String(index).padStart(4, '0')}`,
    ...(clusters === undefined ? {} : { cluster: clusters[index] ?? '' }),
    results: { [model]: [reward] },
  }));
}

async function compareTasksOf(database: Database, a: readonly GivenTask[], b: readonly GivenTask[]) {
  const ids = { a: await writeEvaluation(database, { tasks: a }), b: await writeEvaluation(database, { tasks: b }) };
  const list = await compare(database, ids);
  return { ...list, first: list.comparisons[0] };
}

describe.each(eachDatabase())('comparisons on %s', (_name, open) => {
  it('have the figures of the reference: b − a, paired and clustered, with the exact test of McNemar', async () => {
    const database = await open();
    const { first, warnings } = await compareTasksOf(database, tasksOf('old', B), tasksOf('new', A));
    expect(first).toMatchObject({
      a_model: 'old',
      b_model: 'new',
      n_tasks: 10,
      test: 'mcnemar',
      p_value: 0.25,
      p_holm: 0.25,
    });
    expect(first).toMatchObject({
      won: ['t0001', 't0005', 't0009'],
      lost: [],
      won_count: 3,
      lost_count: 0,
      tied_count: 7,
    });
    const { a_mean, b_mean, difference, stderr, ci95, smallest_detectable_difference } = first ?? {};
    expectClose(
      [a_mean, b_mean, difference, stderr, ...(ci95 ?? [])] as number[],
      [0.4, 0.7, 0.3, 0.152753, -0.04555, 0.64555],
    );
    expectClose(smallest_detectable_difference ?? 0, 2.801585 * 0.152752523165195);
    expect(warnings).toEqual([]);
  });

  it('take the paired t where tasks share clusters, rewards are in parts or tasks have several attempts', async () => {
    const database = await open();
    const clustered = await compareTasksOf(database, tasksOf('m', B, CLUSTERS), tasksOf('m', A, CLUSTERS));
    expect(clustered.first).toMatchObject({ test: 'paired_t' });
    expectClose([clustered.first?.stderr ?? 0, clustered.first?.p_value ?? 0], [0.084853, 0.038486444853]);
    const inParts = await compareTasksOf(database, tasksOf('m', X, X_CLUSTERS), tasksOf('m', Y, X_CLUSTERS));
    expectClose([inParts.first?.difference ?? 0, inParts.first?.p_value ?? 0], [-0.290625, 0.688722661373]);
    const [first, ...others] = tasksOf('m', B);
    const twice = [{ ...first, id: 't0000', results: { m: [1, 1] } }, ...others];
    const several = await compareTasksOf(database, twice, tasksOf('m', A));
    expect(several.first).toMatchObject({ test: 'paired_t' });
    expectClose(several.first?.p_value ?? 0, 0.081126);
  });

  it('pair tasks of the same id and content, and name those that one alone has', async () => {
    const database = await open();
    const a: GivenTask[] = [
      { id: 'both "\u{1F600}', results: { m: [1] } },
      { id: 'changed', content: 'old', results: { m: [1] } },
      { id: 'in a', results: { m: [1] } },
      { id: 'failed in a', results: { m: ['infra_error'] } },
      { id: 'failed in b', results: { m: [0] } },
      { id: 'failed in both', results: { m: ['invalid'] } },
    ];
    const b: GivenTask[] = [
      { id: 'both "\u{1F600}', results: { m: [0] } },
      { id: 'changed', content: 'new', results: { m: [1] } },
      { id: 'failed in a', results: { m: [1] } },
      { id: 'failed in b', results: { m: ['model_error'] } },
      { id: 'failed in both', results: { m: ['invalid'] } },
      { id: 'in b', results: { m: [1] } },
    ];
    const { first } = await compareTasksOf(database, a, b);
    expect(first).toMatchObject({
      n_tasks: 1,
      lost: ['both "\u{1F600}'],
      only_a: ['failed in b', 'in a'],
      only_b: ['failed in a', 'in b'],
      changed: ['changed'],
      only_a_count: 2,
      only_b_count: 2,
      changed_count: 1,
      stderr: null,
      p_value: null,
      p_holm: null,
    });
  });

  it('compare models of equal names, and correct them for each other', async () => {
    const database = await open();
    const tasks = (x: readonly number[], y: number) =>
      x.map((reward, index) => ({ id: `t${index}`, results: { x: [reward], y: [y] } }));
    const a = await writeEvaluation(database, { tasks: tasks(X, 0) });
    const b = await writeEvaluation(database, { tasks: tasks(Y, 1), models: ['y', 'z', 'x'] });
    const { comparisons } = await compare(database, { a, b });
    expect(comparisons.map(({ a_model, b_model }) => [a_model, b_model])).toEqual([
      ['x', 'x'],
      ['y', 'y'],
    ]);
    const [x, y] = comparisons;
    expectClose([y?.p_value ?? 0, y?.p_holm ?? 0], [1 / 128, 1 / 64]);
    expectClose([x?.p_value ?? 0, x?.p_holm ?? 0], [0.62199236903, 0.62199236903]);
  });

  it('compare two models of one evaluation', async () => {
    const database = await open();
    const tasks = A.map((reward, index) => ({ id: `t${index}`, results: { x: [B[index] ?? 0], y: [reward] } }));
    const a = await writeEvaluation(database, { tasks });
    const { comparisons, warnings } = await compare(database, { a, b: a, aModel: 'x', bModel: 'y' });
    expect(comparisons).toMatchObject([{ a_model: 'x', b_model: 'y', won_count: 3, p_value: 0.25 }]);
    expect(warnings).toEqual([]);
    const itself = await compare(database, { a, b: a });
    expect(itself.comparisons).toMatchObject([{ difference: 0, p_value: 1 }, { difference: 0 }]);
    expect(itself.warnings).toEqual([
      'x is compared with itself: a and b are the same evaluation.',
      'y is compared with itself: a and b are the same evaluation.',
    ]);
  });

  it('warn of what limits them', async () => {
    const database = await open();
    const hashed = (hash: string | null): GivenAttempt => ({ outcome: 'graded', reward: 1, environment_hash: hash });
    const a = await writeEvaluation(database, {
      tasks: [
        { id: 'same', results: { m: [hashed('h1'), hashed('h1')] } },
        { id: 'changed while it ran', results: { m: [hashed('h1'), hashed('h2')] } },
        { id: 'changed since', results: { m: [hashed('h1'), hashed(null)] } },
        { id: 'unknown', results: { m: [hashed(null), 'infra_error'] } },
      ],
    });
    const b = await writeEvaluation(database, {
      tasks: [
        { id: 'same', results: { m: [hashed('h1')] }, cluster: 'other' },
        { id: 'changed while it ran', results: { m: [hashed('h1')] } },
        { id: 'changed since', results: { m: [hashed('h2')] } },
        { id: 'unknown', results: { m: [hashed('h1')] } },
      ],
      attempts: 2,
      status: 'running',
      passThreshold: 0.5,
    });
    const { warnings } = await compare(database, { a, b });
    expect(warnings).toEqual([
      'The evaluation b is running: its figures will change.',
      '1 of 8 attempts of m in a have no reward: they are left out.',
      '4 of 8 attempts of m in b have no reward: they are left out.',
      'The pass thresholds differ: 1 in a, 0.5 in b.',
      'The code of the environment was not the same for all attempts of 2 common tasks (environment_hash): a difference may come from that.',
      'The clusters of 1 common task differ: those of a are used.',
    ]);
  });
});

describe('a comparison', () => {
  it('lists the first 1,000 ids and counts the rest', async () => {
    const database = await openInMemory();
    const count = 1_003;
    const zeros = Array.from({ length: count }, () => 0);
    const { first } = await compareTasksOf(
      database,
      tasksOf('m', zeros),
      tasksOf(
        'm',
        zeros.map(() => 1),
      ),
    );
    expect(first).toMatchObject({ won_count: count, n_tasks: count, difference: 1, stderr: 0 });
    expect(first?.won).toHaveLength(1_000);
    expect(first?.won.slice(0, 2)).toEqual(['t0000', 't0001']);
  });

  it('finds a tie where rounding alone tells means apart', async () => {
    const tasks = (attempts: readonly number[]): GivenTask[] =>
      ['t', 'u', 'v'].map((id) => ({ id, results: { m: attempts } }));
    const { first } = await compareTasksOf(await openInMemory(), tasks([0.1, 0.1, 0.1]), tasks([0.1]));
    expect(first).toMatchObject({ difference: 0, stderr: 0, p_value: 1, tied_count: 3, test: 'paired_t' });
  });

  it('is certain of a difference that is the same everywhere, but with McNemar as far as the number of tasks goes', async () => {
    const database = await openInMemory();
    const inParts = await compareTasksOf(database, tasksOf('m', [0.25, 0.5, 0.75]), tasksOf('m', [0.5, 0.75, 1]));
    expect(inParts.first).toMatchObject({ test: 'paired_t', ci95: [0.25, 0.25], p_value: 0 });
    const binary = await compareTasksOf(database, tasksOf('m', [0, 0, 0]), tasksOf('m', [1, 1, 1]));
    expect(binary.first).toMatchObject({ test: 'mcnemar', ci95: [1, 1], p_value: 0.25 });
  });

  it('has no figures without common tasks', async () => {
    const { first } = await compareTasksOf(await openInMemory(), tasksOf('m', [1]), [{ id: 'x', results: { m: [1] } }]);
    expect(first).toMatchObject({
      n_tasks: 0,
      a_mean: null,
      b_mean: null,
      difference: null,
      ci95: null,
      p_value: null,
    });
  });

  it('names the side whose evaluation or model is not there', async () => {
    const database = await openInMemory();
    const a = await writeEvaluation(database, { tasks: [{ id: 't', results: { 'vendor/one': [1], two: [1] } }] });
    const b = await writeEvaluation(database, { tasks: [{ id: 't', results: { three: [1], four: [1] } }] });
    const refused = async (query: ComparisonQuery, error: object) =>
      await expect(compareEvaluations(database, query)).rejects.toMatchObject(error);
    await refused({ a: 'eval_none', b }, { code: 'evaluation_not_found', param: 'a' });
    await refused({ a, b: 'eval_none' }, { code: 'evaluation_not_found', param: 'b' });
    await refused({ a, b }, { code: 'invalid_parameter', param: 'a_model' });
    await refused(
      { a, b, aModel: 'vendor/on' },
      { param: 'a_model', message: expect.stringContaining('"vendor/one"?') },
    );
    await refused({ a, b, bModel: 'two' }, { param: 'b_model' });
    await refused({ a, b, aModel: 'two' }, { param: 'b_model', message: expect.stringContaining('three, four') });
    await refused({ a, b, bModel: 'four' }, { param: 'a_model' });
  });

  it('takes the only model of the other side, or that of the same name, where one is named', async () => {
    const database = await openInMemory();
    const a = await writeEvaluation(database, { tasks: [{ id: 't', results: { one: [1], two: [1] } }] });
    const b = await writeEvaluation(database, { tasks: [{ id: 't', results: { three: [1] } }] });
    expect((await compare(database, { a, b, aModel: 'two' })).comparisons).toMatchObject([
      { a_model: 'two', b_model: 'three' },
    ]);
    expect((await compare(database, { a: b, b: a, bModel: 'one' })).comparisons).toMatchObject([{ b_model: 'one' }]);
    expect((await compare(database, { a, b: a, bModel: 'two' })).comparisons).toMatchObject([{ a_model: 'two' }]);
  });
});
