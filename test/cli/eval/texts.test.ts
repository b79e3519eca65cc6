import { describe, expect, it } from 'vitest';
import { parseBudget } from '../../../src/cli/eval/budget.ts';
import { verdictOf } from '../../../src/cli/eval/compare.ts';
import {
  differenceText,
  moneyText,
  probabilityText,
  rewardText,
  shareText,
  spanText,
  tokensText,
  withHalf,
  withInterval,
} from '../../../src/cli/eval/figures.ts';
import { adviceLines, reportLines } from '../../../src/cli/eval/report-text.ts';
import type { Comparison } from '../../../src/contract/evaluation.ts';
import { comparisonOf, evaluationOf, ID, reportOf } from './evaluations.ts';

describe('a figure', () => {
  it('has the decimals that its interval asks for', () => {
    expect(withInterval(0.6104, [0.5696, 0.6512])).toBe('0.61 [0.57, 0.65]');
    expect(withInterval(0.6104, [0.6004, 0.6204])).toBe('0.610 [0.600, 0.620]');
    expect(withHalf(0.61042, [0.61022, 0.61062])).toBe('0.6104 ±0.0002');
    expect([withInterval(1, [1, 1]), withInterval(0.5, null), withInterval(null, null)]).toEqual([
      '1.00 [1.00, 1.00]',
      '0.50',
      '-',
    ]);
    expect([differenceText(0.06, [-0.02, 0.14]), differenceText(-0.001, null)]).toEqual([
      '+0.06 [-0.02, +0.14]',
      '0.00',
    ]);
    expect(rewardText(-3.25)).toBe('-3.25');
  });

  it('is 100 % or 0 % only where it is that', () => {
    expect([1, 0.9999, 0.995, 0.58, 0.0001, 0, null].map(shareText)).toEqual([
      ...['100 %', '99.9 %', '99.5 %', '58 %', '0.1 %', '0 %', '-'],
    ]);
  });

  it('is short where it is money, tokens, time or a probability', () => {
    expect([3.2, 1_234.5, 0.0042, 0.00000042, 0, null].map(moneyText)).toEqual([
      ...['$3.20', '$1,234.50', '$0.0042', '$0.00000042', '$0.00', '-'],
    ]);
    expect([12, 1_234, 56_000, 2_400_000].map(tokensText)).toEqual(['12', '1.2k', '56k', '2.4M']);
    expect([900, 42_000, 200_000, 720_000, 7_500_000].map(spanText)).toEqual([
      ...['0.9 s', '42 s', '3 min 20 s', '12 min', '2 h 5 min'],
    ]);
    expect([0.0001, 0.0312, 0.42, null].map(probabilityText)).toEqual(['< 0.001', '0.031', '0.42', '-']);
  });
});

describe('--budget', () => {
  it('reads dollars and tokens, and both where it is given twice', () => {
    expect(['5usd', '$5', '0.50USD', '5$'].map((text) => parseBudget(text))).toEqual([
      ...[{ usd: 5 }, { usd: 5 }, { usd: 0.5 }, { usd: 5 }],
    ]);
    expect(['2Mtok', '500ktok', '1.5Mtokens', '100tok'].map((text) => parseBudget(text).tokens)).toEqual([
      ...[2_000_000, 500_000, 1_500_000, 100],
    ]);
    expect(parseBudget('2Mtok', parseBudget('5usd'))).toEqual({ usd: 5, tokens: 2_000_000 });
  });

  it.each(['5', '5eur', '0usd', '-1usd', '', 'tok', '1e3usd', '0.1tok'])('refuses %j', (text) => {
    expect(() => parseBudget(text)).toThrow(/It has to be/);
  });

  it('refuses the same kind twice', () => {
    expect(() => parseBudget('6usd', { usd: 5 })).toThrow('There is a budget in usd already.');
  });
});

describe('the report', () => {
  it('says mean with interval, coverage, the mean with what is missing as 0, pass rates, outcomes, cost and time', () => {
    const text = reportLines(evaluationOf([reportOf('m')])).join('\n');
    expect(text).toBe(`nightly (${ID}): completed, 800 of 800 attempts
200 tasks of retail/task × 4 attempts × 1 model, version ab12cd34ef56; $4.40, 2.4M tokens spent

m
  mean            0.61 [0.57, 0.65] over 784 of 800 attempts (coverage 98 %)
  missing as 0    0.60
  pass rate       58 % [54 %, 62 %], a reward of at least 1
  pass@k          1: 0.58  2: 0.66  4: 0.71  (one of k passes; 12 tasks left out, with fewer than k rewards)
  pass^k          1: 0.58  2: 0.49  4: 0.41  (all k pass; 12 tasks left out, with fewer than k rewards)
  outcomes        700 graded, 84 stopped at a limit, 16 without an answer of the model; 5 reruns
  can tell apart  models that differ by 0.08 or more
  cost            $1.20, and $0.020 for reruns, 1.2M tokens (1.0M in, 200k out)
  time            12 min in all; an attempt 14 s (median), 1 min 1 s (p95); 6 steps (median), 20 (p95)`);
  });

  it('tells the cost of users and judges beside that of the agent, known or not', () => {
    const costOf = (cost: Partial<ReturnType<typeof reportOf>['cost']>) => {
      const known = { agent: 1, user: 0.15, judge: 0.05, total: 1.2 };
      return reportLines(evaluationOf([reportOf('m', { cost: { ...known, ...cost } })])).join('\n');
    };
    expect(costOf({})).toContain('$1.20 (agent $1.00, user $0.15, judge $0.050), and');
    expect(costOf({ judge: null, total: null })).toContain('no price (agent $1.00, user $0.15, judge -), and');
  });

  it('tells steps between two attempts with one decimal', () => {
    const lines = reportLines(evaluationOf([reportOf('m', { steps: { median: 2.5, p95: 32.599999999999994 } })]));
    expect(lines.join('\n')).toContain('2.5 steps (median), 32.6 (p95)');
  });

  it('begins with a line for each model where there are several', () => {
    const lines = reportLines(evaluationOf([reportOf('small'), reportOf('large', { mean: 0.67, ci95: [0.63, 0.71] })]));
    expect(lines.slice(3, 6)).toEqual([
      'model  mean [95 % interval]  pass rate  coverage  cost',
      'small  0.61 [0.57, 0.65]     58 %       98 %      $1.20',
      'large  0.67 [0.63, 0.71]     58 %       98 %      $1.20',
    ]);
  });

  it('says what is to be done about attempts without a reward, with an example', () => {
    const evaluation = evaluationOf([reportOf('m', { outcomes: { graded: 1, grader_error: 2, over_budget: 1 } })]);
    const example = {
      outcome: 'grader_error',
      message: 'no \u001b[2J fixture',
      traceUrl: 'http://127.0.0.1/traces/1',
    } as const;
    const lines = adviceLines(evaluation, [example], 'proctor eval rerun x');
    expect(lines).toEqual([
      '2 attempts not graded: setup or evaluation threw. Mend the scenario: its setup or its evaluation threw; then run them again.',
      '  for example: no \ufffd[2J fixture',
      '  http://127.0.0.1/traces/1',
      '1 attempt over the budget. Give the same command a higher --budget: it goes on with them.',
      'To run those without a reward again: proctor eval rerun x',
    ]);
    expect(adviceLines(evaluationOf([reportOf('m', { outcomes: { graded: 4 } })]), [], 'x')).toEqual([]);
  });
});

describe('the sentence of a comparison', () => {
  const [a, b] = [evaluationOf([reportOf('a')]), evaluationOf([reportOf('b')])];
  const cases: readonly (readonly [Partial<Comparison>, string | RegExp])[] = [
    [{}, 'B (b) is better than A (a) by 0.06 [0.02, 0.10]: 14 tasks won, 5 lost, 181 tied'],
    [{ difference: -0.06, ci95: [-0.1, -0.02] }, /^B \(b\) is worse than A \(a\) by 0\.06 \[0\.02, 0\.10\]: /],
    [{ difference: 0.01, ci95: [-0.03, 0.05] }, /^No difference can be told between B \(b\) and A \(a\): \+0\.01 \[-0/],
    [{ difference: 0, ci95: [0, 0] }, /^B \(b\) and A \(a\) are equal on every task/],
    [{ difference: 0.5, ci95: null }, /^B \(b\) differs from A \(a\) by \+0\.50, from too few tasks for an interval/],
    [{ difference: null, ci95: null }, /^B \(b\) and A \(a\) have no task in common/],
  ];
  it.each(cases)('of %j', (more, expected) => {
    expect(verdictOf(comparisonOf(more), a, b)).toEqual(
      typeof expected === 'string' ? expected : expect.stringMatching(expected),
    );
  });
});
