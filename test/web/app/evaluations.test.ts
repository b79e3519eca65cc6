import { describe, expect, it } from 'vitest';
import type { Comparison } from '../../../src/contract/service/evaluation.ts';
import { GRADED_OUTCOMES, outcomeSchema, RERUN_OUTCOMES } from '../../../src/contract/service/outcome.ts';
import { verdictOf } from '../../../src/web/app/evaluations/comparison-verdict.ts';
import { moveTo } from '../../../src/web/app/evaluations/matrix/matrix-keys.ts';
import { LOOKS, signOf, toneOf } from '../../../src/web/app/evaluations/states.ts';
import {
  CELL_LETTERS,
  CELL_STATES,
  GRADED_STATES,
  RERUN_STATES,
} from '../../../src/web/evaluations/evaluation-data.ts';

const COMPARISON: Comparison = {
  a_model: 'm',
  b_model: 'm',
  n_tasks: 200,
  a_mean: 0.6,
  b_mean: 0.66,
  difference: 0.06,
  stderr: 0.02,
  ci95: [0.02, 0.1],
  p_value: 0.004,
  p_holm: 0.004,
  test: 'paired_t',
  smallest_detectable_difference: 0.056,
  won: [],
  lost: [],
  tied: [],
  only_a: [],
  only_b: [],
  changed: [],
  won_count: 14,
  lost_count: 5,
  tied_count: 181,
  only_a_count: 0,
  only_b_count: 0,
  changed_count: 0,
};

describe('figures of evaluations', () => {
  it('the verdict names the better side only where the interval leaves 0 out', () => {
    expect(verdictOf(COMPARISON)).toBe('m: B is better than A by 0.06');
    expect(verdictOf({ ...COMPARISON, difference: -0.06, ci95: [-0.1, -0.02] })).toBe('m: B is worse than A by 0.06');
    expect(verdictOf({ ...COMPARISON, b_model: 'n', ci95: [-0.01, 0.13] })).toBe(
      'no difference can be told between n and m',
    );
    expect(verdictOf({ ...COMPARISON, n_tasks: 1, ci95: null })).toBe(
      'm: B is higher than A by 0.06, on too few tasks (1) for an interval',
    );
    expect(verdictOf({ ...COMPARISON, difference: null, ci95: null })).toBe('m: no task has a reward on both sides');
  });
});

describe('cells of attempts', () => {
  it('there is a letter, a title and a tone for every outcome of the contract, and none is told by colour alone', () => {
    expect([...CELL_STATES].sort()).toEqual([...outcomeSchema.options, 'running', 'waiting', 'none'].sort());
    expect([GRADED_STATES, RERUN_STATES]).toEqual([GRADED_OUTCOMES, RERUN_OUTCOMES]);
    expect(new Set(Object.values(CELL_LETTERS)).size).toBe(CELL_STATES.length);
    const signs = CELL_STATES.filter((state) => state !== 'graded').map((state) => signOf(state, null, 1));
    expect(new Set(signs).size).toBe(signs.length);
    expect(CELL_STATES.every((state) => LOOKS[state].title !== '')).toBe(true);
    expect([1, 0.55, 0].map((reward) => signOf('graded', reward, 1))).toEqual(['✓', '.55', '✕']);
    expect([1, 0.55, 0].map((reward) => toneOf('graded', reward, 1))).toEqual(['full', 'part', 'zero']);
    expect([signOf('limit', 0.5, 1), toneOf('limit', 0.5, 0.5)]).toEqual(['L', 'full']);
    expect(signOf('graded', 0.5, 0.5)).toBe('✓');
    expect([0.75, 0.29, 0.999, 0.004, 3].map((reward) => signOf('graded', reward, 5))).toEqual([
      ...['.75', '.29', '.99', '.01', '3'],
    ]);
  });
});

describe('keys of the grid', () => {
  const size = { rows: 100, columns: 13, page: 20 };
  const press = (key: string, from: readonly [number, number], ctrlKey = false) => {
    const to = moveTo({ key, ctrlKey, metaKey: false, altKey: false }, { row: from[0], column: from[1] }, size);
    return to === undefined ? undefined : [to.row, to.column];
  };

  it('lead from cell to cell and never out of it; other keys are left to the browser', () => {
    expect(press('ArrowDown', [0, 3])).toEqual([1, 3]);
    expect(press('ArrowUp', [0, 3])).toEqual([0, 3]);
    expect(press('ArrowRight', [5, 12])).toEqual([5, 12]);
    expect(press('PageDown', [90, 0])).toEqual([99, 0]);
    expect(press('Home', [5, 7])).toEqual([5, 0]);
    expect(press('End', [5, 7], true)).toEqual([99, 12]);
    expect(press('a', [5, 7])).toBeUndefined();
  });
});
