import { describe, expect, it } from 'vitest';
import { evaluationSchema } from '../../../src/contract/scenario.ts';
import { toEvaluation } from '../../../src/environment/authoring/evaluation.ts';

const PLAIN = { done: true, content: null, info: {}, subscores: [], is_error: false };

describe('an evaluation', () => {
  it.each([
    [1, { ...PLAIN, reward: 1 }],
    [-0.5, { ...PLAIN, reward: -0.5 }],
    [true, { ...PLAIN, reward: 1 }],
    [false, { ...PLAIN, reward: 0 }],
    [{ reward: 0.5 }, { ...PLAIN, reward: 0.5 }],
    [
      { reward: 1, content: 'Good.', info: { seen: 2 }, done: false },
      { ...PLAIN, reward: 1, content: 'Good.', info: { seen: 2 } },
    ],
    [
      { reward: 0, info: { at: new Date(0), gone: undefined } },
      { ...PLAIN, reward: 0, info: { at: '1970-01-01T00:00:00.000Z' } },
    ],
  ])('of %j is complete on the wire', (given, expected) => {
    expect(toEvaluation(given)).toEqual(expected);
    expect(evaluationSchema.parse(toEvaluation(given))).toEqual(expected);
  });

  it('with subscores and no reward has their weighted mean', () => {
    const subscores = [
      { name: 'style', value: 1 },
      { name: 'tests', value: 0.5, weight: 3 },
      { name: 'ignored', value: 9, weight: 0 },
    ];
    expect(toEvaluation({ subscores })).toEqual({ ...PLAIN, reward: 0.625, subscores });
  });

  it('with both keeps its reward', () => {
    expect(toEvaluation({ reward: 0.1, subscores: [{ name: 'a', value: 1 }] }).reward).toBe(0.1);
  });

  it.each([[undefined], [null], [{}], [{ score: 1 }], [{ subscores: [] }], [{ reward: null }]])(
    'is missing in %j',
    (given) => {
      expect(() => toEvaluation(given)).toThrow(expect.objectContaining({ name: 'EvaluationMissingError' }));
    },
  );

  it.each([
    [Number.NaN, 'a finite number, got NaN'],
    [{ reward: Number.POSITIVE_INFINITY }, 'a finite number, got Infinity'],
    [{ reward: '1' }, 'a finite number, got "1"'],
    ['passed', 'got "passed"'],
    [[1], 'got [1]'],
    [{ reward: 1, content: 5 }, 'content has to be text, got 5'],
    [{ reward: 1, done: 'yes' }, 'done has to be a boolean, got "yes"'],
    [{ reward: 1, info: 'x' }, 'info has to be an object, got "x"'],
    [{ reward: 1, subscores: {} }, 'subscores has to be a list'],
    [{ subscores: [{ value: 1 }] }, 'subscores.0 has to be {name, value, weight?}'],
    [{ subscores: [{ name: 'a', value: Number.NaN }] }, 'the value of subscore "a" has to be a finite number, got NaN'],
    [{ subscores: [{ name: 'a', value: 1, weight: -1 }] }, 'the weight of subscore "a"'],
    [{ subscores: [{ name: 'a', value: 1, weight: 0 }] }, 'the weights of the subscores are all 0'],
  ])('cannot be %j', (given, message) => {
    expect(() => toEvaluation(given)).toThrow(message);
    expect(() => toEvaluation(given)).toThrow(expect.objectContaining({ name: 'EvaluationInvalidError' }));
  });

  it('cannot have info that JSON cannot hold', () => {
    expect(() => toEvaluation({ reward: 1, info: { n: 1n } })).toThrow('info has a value that JSON cannot hold');
  });
});
