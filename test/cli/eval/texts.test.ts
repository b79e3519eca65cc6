import { describe, expect, it } from 'vitest';
import { tableLines } from '../../../src/cli/base/terminal.ts';
import { parseBudget } from '../../../src/cli/evaluate/eval/budget.ts';
import { verdictOf } from '../../../src/cli/evaluate/eval/compare.ts';
import { adviceLines, reportLines } from '../../../src/cli/evaluate/eval/report-text.ts';
import type { Comparison } from '../../../src/contract/service/evaluation.ts';
import { comparisonOf, evaluationOf, ID, reportOf } from './evaluations.ts';

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
200 tasks of retail/task × 4 attempts × 1 model, version ab12cd34ef56; $4.40, 2.4M tokens spent, with users, judges and reruns

m
  mean            0.61 [0.57, 0.65] over 784 of 800 attempts (coverage 98 %)
  missing as 0    0.60
  pass rate       58 % [54 %, 62 %], the mean over 200 tasks of the share of attempts with a reward of at least 1
  pass@k          1: 58 %  2: 66 %  4: 71 %  (one of k passes; 12 tasks left out, with fewer than k rewards)
  pass^k          1: 58 %  2: 49 %  4: 41 %  (all k pass; 12 tasks left out, with fewer than k rewards)
  outcomes        700 graded, 84 stopped at a limit, 16 without an answer of the model; 5 reruns
  can tell apart  models that differ by 0.08 or more
  cost            $1.20, and $0.020 for reruns, 1.2M tokens of the agent (1.0M in, 200k out)
  time            12 min in all; an attempt 14.2 s (median), 1 min 1 s (p95); steps 6 (median), 20 (p95)`);
  });

  it('tells the cost of users and judges beside that of the agent, known or not', () => {
    const costOf = (cost: Partial<ReturnType<typeof reportOf>['cost']>) => {
      const known = { agent: 1, user: 0.15, judge: 0.05, total: 1.2 };
      return reportLines(evaluationOf([reportOf('m', { cost: { ...known, ...cost } })])).join('\n');
    };
    expect(costOf({})).toContain('$1.20 (agent $1.00, user $0.15, judge $0.050), and');
    expect(costOf({ judge: null, total: null })).toContain('no price (agent $1.00, user $0.15, judge –), and');
  });

  it('tells steps between two attempts with one decimal', () => {
    const lines = reportLines(evaluationOf([reportOf('m', { steps: { median: 2.5, p95: 32.599999999999994 } })]));
    expect(lines.join('\n')).toContain('steps 2.5 (median), 32.6 (p95)');
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

describe('a table', () => {
  it('lines up with names that are wider on the screen than they are long', () => {
    expect(
      tableLines([
        ['NAME', 'MEAN'],
        ['检查', '0.50'],
        ['ok 🎉', '1.00'],
      ]),
    ).toEqual([...['NAME   MEAN', '检查   0.50', 'ok 🎉  1.00']]);
  });
});

describe('the sentence of a comparison', () => {
  it('names the model that both have where the evaluations have several', () => {
    const both = evaluationOf([reportOf('small'), reportOf('large')]);
    const same = comparisonOf({ a_model: 'large', b_model: 'large' });
    expect(verdictOf(same, { ...both, name: 'main' }, both)).toMatch(
      /^large: B \(nightly\) is better than A \(main\) by /,
    );
  });

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
