import { describe, expect, it } from 'vitest';
import { calculate } from './desk/calculate.ts';
import { round2, toDecimalText } from './desk/numbers.ts';

describe('calculate', () => {
  it.each([
    ['2 + 2', '4.0'],
    ['100 / 3', '33.33'],
    ['7.10 * 3', '21.3'],
    ['1 - 1', '0.0'],
    ['200.8 + 96.35 + 193.38 + 231.37 + 196.53', '918.43'],
    ['12', '12.0'],
    ['12.', '12.0'],
    ['.5', '0.5'],
    ['0', '0.0'],
    [' 1+2 ', '3.0'],
  ])('gives %s as %s', (expression, expected) => expect(calculate(expression)).toBe(expected));

  it.each([
    ['2 + 3 * 4', '14.0'],
    ['(2 + 3) * 4', '20.0'],
    ['10 - 4 - 3', '3.0'],
    ['100 / 10 / 5', '2.0'],
    ['7 / 2', '3.5'],
    ['-3 + +5', '2.0'],
    ['2--3', '5.0'],
    ['--2', '2.0'],
    ['2 * -3', '-6.0'],
  ])('takes precedence, brackets and signs as usual: %s is %s', (expression, expected) => {
    expect(calculate(expression)).toBe(expected);
  });

  it.each([
    ['-2**2', '-4.0'],
    ['2**3**2', '512.0'],
    ['2**-1', '0.5'],
    ['2 * 3 ** 2', '18.0'],
    ['7 // 2', '3.0'],
    ['-7 // 2', '-4.0'],
    ['7 // -2', '-4.0'],
    ['-7.5 // 2', '-4.0'],
    ['1 // 0.1', '9.0'],
    ['8 / 3 // 2', '1.0'],
    ['-9 // -19.5', '0.0'],
    ['-0.0 // 5', '-0.0'],
  ])('reads ** as power and // as floor division: %s is %s', (expression, expected) => {
    expect(calculate(expression)).toBe(expected);
  });

  it.each([
    ['0.125', '0.12'],
    ['0.375', '0.38'],
    ['0.625', '0.62'],
    ['0.875', '0.88'],
    ['-0.125', '-0.12'],
    ['2.675', '2.67'],
    ['1.005', '1.0'],
    ['1000000.125', '1000000.12'],
  ])('rounds the exact binary value, ties to even: %s to %s', (expression, expected) => {
    expect(calculate(expression)).toBe(expected);
  });

  it.each([
    ['0.001 - 0.002', '-0.0'],
    ['-1 / 1000', '-0.0'],
    ['-0.0', '-0.0'],
    ['-0', '0.0'],
    ['0 * -1', '0.0'],
    ['-(1 - 1)', '0.0'],
  ])('gives a zero its sign unless whole numbers alone made it: %s is %s', (expression, expected) => {
    expect(calculate(expression)).toBe(expected);
  });

  it.each([
    ['10 ** 16', '1e+16'],
    ['12345678901234567890', '1.2345678901234567e+19'],
    ['-10 ** 25', '-1e+25'],
    ['9999999999999998', '9999999999999998.0'],
  ])('writes 1e16 and more in exponent form: %s is %s', (expression, expected) => {
    expect(calculate(expression)).toBe(expected);
  });

  it.each(['1,000', '2 ^ 3', '5 % 2', '1 = 1', 'two', '1\n+ 1', '1 + 1\n', '1\t+1', '１'])(
    'refuses the characters of %j in these words',
    (expression) => expect(() => calculate(expression)).toThrow(/^Invalid characters in expression$/),
  );

  it.each(['', '   ', '(', '(1', '1)', '()', '1 2', '1 .5', '1.5.2', '1..5', '.', '1 +', '* 2', '2 * * 3', '2 / / 3'])(
    'refuses %j, which cannot be parsed',
    (expression) => expect(() => calculate(expression)).toThrow('The expression cannot be parsed'),
  );

  it.each(['05', '1 + 007', '00'])('refuses the needless leading zero of %s', (expression) => {
    expect(() => calculate(expression)).toThrow('leading zero');
  });

  it.each(['2(3)', '(2)(3)', '2***3'])('refuses %s, which has no operator that exists', (expression) => {
    expect(() => calculate(expression)).toThrow('unexpected');
  });

  it.each(['1 / 0', '1 // 0', '1 / (2 - 2)', '0 ** -1', '(-8) ** 0.5', '10 ** 400', '1 / 10 ** 400', '9'.repeat(400)])(
    'refuses %s, which has no value',
    (expression) => expect(() => calculate(expression)).toThrow('The expression cannot be evaluated'),
  );

  it('refuses what is nested deeper than the stack would hold', () => {
    expect(() => calculate('('.repeat(100_000))).toThrow('nested too deeply');
    expect(() => calculate(`${'-'.repeat(100_000)}1`)).toThrow('nested too deeply');
    expect(() => calculate(Array(100_000).fill('2').join('**'))).toThrow('nested too deeply');
    expect(calculate(Array(10_000).fill('1').join('+'))).toBe('10000.0');
  });
});

describe('numbers', () => {
  it('rounds as the nearest multiple of 0.01 where that is not what a factor of 100 gives', () => {
    expect(round2(1.005)).toBe(1);
    expect(round2(8.575)).toBe(8.57);
    expect(round2(41.91999999999999)).toBe(41.92);
    expect(round2(1e21)).toBe(1e21);
    expect(Object.is(round2(-0.001), -0)).toBe(true);
  });

  it('always writes a decimal point or an exponent', () => {
    expect(toDecimalText(3)).toBe('3.0');
    expect(toDecimalText(-0)).toBe('-0.0');
    expect(toDecimalText(0.1)).toBe('0.1');
    expect(toDecimalText(1e300)).toBe('1e+300');
  });
});
