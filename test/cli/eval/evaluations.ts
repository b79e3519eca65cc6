import type { Comparison, ComparisonList, EvaluationDetail, Report } from '../../../src/contract/service/evaluation.ts';

/** A report of a model that has ended, unless told otherwise. */
export function reportOf(model: string, more: Partial<Report> = {}): Report {
  return {
    model,
    n_tasks: 200,
    n_attempts: 800,
    coverage: 0.98,
    mean: 0.6104,
    mean_missing_as_zero: 0.598,
    stderr: 0.0207,
    ci95: [0.5696, 0.6512],
    pass_rate: { value: 0.581, ci95: [0.539, 0.623] },
    pass_at_k: {
      '1': { value: 0.58, tasks: 200, left_out: 0 },
      '2': { value: 0.66, tasks: 200, left_out: 0 },
      '4': { value: 0.71, tasks: 188, left_out: 12 },
    },
    pass_hat_k: {
      '1': { value: 0.58, tasks: 200, left_out: 0 },
      '2': { value: 0.49, tasks: 200, left_out: 0 },
      '4': { value: 0.41, tasks: 188, left_out: 12 },
    },
    outcomes: { graded: 700, limit: 84, model_error: 16 },
    reruns: 5,
    tokens: { prompt: 1_000_000, completion: 200_000, total: 1_200_000 },
    cost: { agent: 1.2, user: 0, judge: 0, total: 1.2 },
    reruns_cost: 0.02,
    wall_ms: 725_000,
    steps: { median: 6, p95: 20 },
    duration_ms: { median: 14_200, p95: 61_000 },
    smallest_detectable_difference: 0.082,
    ...more,
  };
}

export const ID = 'eval_3f2a91c04bd94e7f8a1d2c3b4e5f6071';

export function evaluationOf(reports: readonly Report[], more: Partial<EvaluationDetail> = {}): EvaluationDetail {
  const total = reports.reduce((sum, { n_attempts }) => sum + n_attempts, 0);
  return {
    object: 'evaluation',
    evaluation_id: ID,
    evaluation_url: `http://127.0.0.1:8320/evaluations/${ID}`,
    name: 'nightly',
    status: 'completed',
    created_at: '2026-11-23T00:00:00.000Z',
    finished_at: '2026-11-23T00:12:05.000Z',
    parent: null,
    taskset: { name: 'retail/task', version: 'ab12cd34ef56'.padEnd(64, '0'), tasks: 200 },
    models: reports.map(({ model }) => model),
    agent: null,
    user_model: null,
    judge_model: null,
    attempts: 4,
    max_steps: null,
    timeout_seconds: null,
    sampling: {},
    seed: 1,
    concurrency: 32,
    budget: null,
    pass_threshold: 1,
    metadata: {},
    progress: {
      done: total,
      total,
      running: 0,
      reruns: 5,
      outcomes: { graded: total },
      spent: { usd: 4.4, tokens: 2_400_000 },
    },
    reports: [...reports],
    environment_hashes: {},
    changed_environments: [],
    concurrency_history: [],
    suspects: [],
    ...more,
  };
}

export function comparisonOf(more: Partial<Comparison> = {}): Comparison {
  return {
    a_model: 'a',
    b_model: 'b',
    n_tasks: 200,
    a_mean: 0.6,
    b_mean: 0.66,
    difference: 0.06,
    stderr: 0.02,
    ci95: [0.02, 0.1],
    p_value: 0.0031,
    p_holm: 0.0031,
    test: 'paired_t',
    smallest_detectable_difference: 0.057,
    won: ['w1', 'w2'],
    lost: ['l1'],
    tied: ['t1'],
    only_a: [],
    only_b: [],
    changed: [],
    won_count: 14,
    lost_count: 5,
    tied_count: 181,
    only_a_count: 0,
    only_b_count: 0,
    changed_count: 0,
    ...more,
  };
}

export function comparisonsOf(comparisons: readonly Comparison[], warnings: readonly string[] = []): ComparisonList {
  return { object: 'comparison', a: ID, b: ID, comparisons: [...comparisons], warnings: [...warnings] };
}
