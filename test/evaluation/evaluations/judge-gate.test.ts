import { describe, expect, it } from 'vitest';
import type { Comparison, ComparisonList, Report } from '../../../src/contract/service/evaluation.ts';
import { type GateInput, judgeGate } from '../../../src/evaluation/evaluations/report/judge-gate.ts';

type Interval = [number, number] | null;

function report(mean: number | null, ci95: Interval, more: Partial<Report> = {}): Report {
  return {
    model: 'm',
    n_tasks: 100,
    n_attempts: 100,
    coverage: 1,
    mean,
    mean_missing_as_zero: mean ?? 0,
    stderr: null,
    ci95,
    pass_rate: { value: mean, ci95 },
    pass_at_k: {},
    pass_hat_k: {},
    outcomes: {},
    reruns: 0,
    tokens: { prompt: 0, completion: 0, total: 0 },
    cost: { agent: 0, user: 0, judge: 0, total: 0 },
    reruns_cost: 0,
    wall_ms: null,
    steps: { median: null, p95: null },
    duration_ms: { median: null, p95: null },
    smallest_detectable_difference: null,
    ...more,
  };
}

function comparisonOf(difference: number | null, ci95: Interval, more: Partial<Comparison> = {}): ComparisonList {
  const comparison: Comparison = {
    a_model: 'm',
    b_model: 'm',
    n_tasks: 80,
    a_mean: 0,
    b_mean: 0,
    difference,
    stderr: null,
    ci95,
    p_value: null,
    p_holm: null,
    test: 'paired_t',
    smallest_detectable_difference: null,
    won: [],
    lost: [],
    tied: [],
    only_a: [],
    only_b: [],
    changed: [],
    won_count: 0,
    lost_count: 0,
    tied_count: 0,
    only_a_count: 0,
    only_b_count: 0,
    changed_count: 0,
    ...more,
  };
  return { object: 'comparison', a: 'eval_a', b: 'eval_b', comparisons: [comparison], warnings: ['The code changed.'] };
}

function judge(reports: readonly Report[], more: Partial<GateInput> = {}) {
  return judgeGate({ evaluation: { status: 'completed', reports }, ...more });
}

/** Sentences of the checks that did not pass. */
function complaints(verdict: ReturnType<typeof judgeGate>): string[] {
  return verdict.checks.filter(({ code }) => code !== 0).map(({ sentence }) => sentence);
}

describe('a gate with a score to reach', () => {
  it.each([
    [
      'passes where the whole interval reaches it',
      0.84,
      [0.81, 0.87],
      0,
      'm: the mean 0.84 [0.81, 0.87] is at least 0.8.',
    ],
    [
      'fails where the whole interval is below',
      0.7,
      [0.65, 0.75],
      1,
      'm: the mean 0.70 [0.65, 0.75] is less than 0.8.',
    ],
    [
      'is open where the interval contains it',
      0.82,
      [0.78, 0.86],
      3,
      'm: it is open whether the mean 0.82 [0.78, 0.86] is at least 0.8.',
    ],
    [
      'is open without an interval',
      0.9,
      null,
      3,
      'm: it is open whether the mean 0.90 is at least 0.8, since an interval needs two clusters of tasks with a reward.',
    ],
    [
      'is open without a reward',
      null,
      null,
      3,
      'm: it is open whether the mean of nothing is at least 0.8, since an interval needs two clusters of tasks with a reward.',
    ],
    [
      'passes at the score itself, whatever rounding does',
      0.1 + 0.7,
      [0.1 + 0.7, 0.1 + 0.7],
      0,
      'm: the mean 0.80 [0.80, 0.80] is at least 0.8.',
    ],
    [
      'is open where the interval ends at it',
      0.7,
      [0.6, 0.8],
      3,
      'm: it is open whether the mean 0.70 [0.60, 0.80] is at least 0.8.',
    ],
    [
      'shows digits enough to see why',
      0.799999,
      [0.799998, 0.7999991],
      1,
      'm: the mean 0.799999 [0.799998, 0.799999] is less than 0.8.',
    ],
  ] as const)('%s', (_name, mean, ci95, code, sentence) => {
    const verdict = judge([report(mean, ci95 as Interval)], { minScore: 0.8 });
    expect(verdict.code).toBe(code);
    expect(verdict.checks.find(({ check }) => check === 'score')).toMatchObject({ code, sentence, model: 'm' });
  });

  it('fails with what is inconclusive where it is strict, and with nothing else more', () => {
    const open = report(0.82, [0.78, 0.86]);
    expect(judge([open], { minScore: 0.8, isStrict: true }).code).toBe(1);
    expect(judge([report(0.84, [0.81, 0.87])], { minScore: 0.8, isStrict: true }).code).toBe(0);
    expect(judge([{ ...open, coverage: 0.5 }], { minScore: 0.8, isStrict: true }).code).toBe(4);
  });
});

describe('a gate with a baseline', () => {
  const good = report(0.8, [0.75, 0.85]);

  it.each([
    [
      'passes where no difference of the interval is lower',
      0.01,
      [-0.01, 0.03],
      0,
      'm: the difference +0.01 [-0.01, +0.03] from the baseline, on 80 common tasks, is no regression: the mean may be lower by 0.02 at most.',
    ],
    [
      'fails where all are lower',
      -0.06,
      [-0.08, -0.04],
      1,
      'm: the difference -0.06 [-0.08, -0.04] from the baseline, on 80 common tasks, is a regression: the mean may be lower by 0.02 at most.',
    ],
    [
      'is open where some are',
      -0.01,
      [-0.04, 0.02],
      3,
      'm: it is open whether the difference -0.01 [-0.04, +0.02] from the baseline, on 80 common tasks, is a regression: the mean may be lower by 0.02 at most.',
    ],
    [
      'is open without an interval',
      0.5,
      null,
      3,
      'm: it is open whether the difference +0.50 from the baseline, on 80 common tasks, is a regression, since an interval needs two clusters of tasks with a reward: the mean may be lower by 0.02 at most.',
    ],
  ] as const)('%s', (_name, difference, ci95, code, sentence) => {
    const verdict = judge([good], { maxRegression: 0.02, comparison: comparisonOf(difference, ci95 as Interval) });
    expect(verdict.code).toBe(code);
    expect(verdict.checks.find(({ check }) => check === 'regression')?.sentence).toBe(sentence);
    expect(verdict.warnings).toEqual(['The code changed.']);
  });

  it('warns of code that changed between its attempts, without a baseline too', () => {
    const evaluation = { status: 'completed', reports: [good], changed_environments: ['counter'] } as const;
    const sentence = 'The code of counter was not the same for all attempts: the mean is of several versions of it.';
    expect(judgeGate({ evaluation, minScore: 0 }).warnings).toEqual([sentence]);
    expect(judge([good], { minScore: 0 }).warnings).toEqual([]);
  });

  it('cannot be judged without a baseline, or without a model of it to compare with', () => {
    const without = judge([good], { maxRegression: 0 });
    expect(without.code).toBe(2);
    expect(complaints(without)).toEqual(['m: a regression cannot be judged, since there is no baseline.']);
    const other = judge([good], { maxRegression: 0, comparison: comparisonOf(0, [0, 0], { b_model: 'x' }) });
    expect(complaints(other)).toEqual(['m: a regression cannot be judged, since the baseline has models for x alone.']);
    expect(other.code).toBe(2);
  });

  it('finds the model of the evaluation where that of the baseline has another name', () => {
    const comparison = comparisonOf(0.1, [0.05, 0.15], { a_model: 'old' });
    expect(judge([good], { maxRegression: 0, comparison }).code).toBe(0);
  });
});

describe('a gate', () => {
  it('wants rewards of nine attempts in ten, or as many as it is told', () => {
    expect(judge([report(1, [1, 1], { coverage: 0.9 })]).code).toBe(0);
    const verdict = judge([report(1, [1, 1], { coverage: 0.89996, n_attempts: 100_000 })]);
    expect(verdict.code).toBe(4);
    expect(complaints(verdict)).toEqual([
      'm: 89,996 of 100,000 attempts have a reward, a coverage of 89.996 %, which is less than 90 %.',
    ]);
    expect(judge([report(1, [1, 1], { coverage: 0.5 })], { minCoverage: 0.5 }).code).toBe(0);
    expect(judge([report(null, null, { coverage: 0 })], { minCoverage: 0 }).code).toBe(0);
  });

  it('judges every model, or the one that is named', () => {
    const reports = [report(0.9, [0.85, 0.95]), report(0.5, [0.4, 0.6], { model: 'x' })];
    expect(judge(reports, { minScore: 0.8 })).toMatchObject({ code: 1 });
    expect(judge(reports, { minScore: 0.8, model: 'm' })).toMatchObject({ code: 0 });
    const unknown = judge(reports, { minScore: 0.8, model: 'y' });
    expect(unknown.code).toBe(2);
    expect(complaints(unknown)).toEqual(['There is no model "y" in the evaluation; there are m, x.']);
  });

  it('judges no evaluation that has not ended', () => {
    for (const status of ['running', 'paused'] as const) {
      const verdict = judgeGate({ evaluation: { status, reports: [report(1, [1, 1])] } });
      expect(verdict.code).toBe(2);
      expect(complaints(verdict)).toEqual([`The evaluation is ${status}: judge it when it has ended.`]);
    }
    expect(judgeGate({ evaluation: { status: 'cancelled', reports: [report(1, [1, 1])] } }).code).toBe(0);
  });

  it('ends with the worst of all checks: 2, 4, 1, 3, 0', () => {
    const passing = report(0.9, [0.85, 0.95], { model: 'passing' });
    const open = report(0.8, [0.75, 0.85], { model: 'open' });
    const failing = report(0.7, [0.65, 0.75], { model: 'failing' });
    const missing = report(0.9, [0.85, 0.95], { model: 'missing', coverage: 0.1 });
    const codes = [passing, open, failing, missing].map(
      (_, index, all) => judge(all.slice(0, index + 1), { minScore: 0.8 }).code,
    );
    expect(codes).toEqual([0, 3, 1, 4]);
    const all = [missing, failing, open, passing];
    expect(judge(all, { minScore: 0.8, maxRegression: 0 }).code).toBe(2);
  });
});
