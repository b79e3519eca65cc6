import { describe, expect, it } from 'vitest';
import {
  bytesText,
  countText,
  differenceText,
  durationText,
  grouped,
  meanBeside,
  meanText,
  moneyText,
  probabilitySentence,
  probabilityText,
  rewardText,
  shareBeside,
  shareText,
  shareWithInterval,
  signedIntervalText,
  spreadText,
  tokensText,
  withHalf,
  withInterval,
} from '../../../src/support/text/figures.ts';

describe('a figure', () => {
  it('has the decimals that its interval asks for', () => {
    expect(withInterval(0.6104, [0.5696, 0.6512])).toBe('0.61 [0.57, 0.65]');
    expect(withInterval(0.6104, [0.6004, 0.6204])).toBe('0.610 [0.600, 0.620]');
    expect(withHalf(0.61042, [0.61022, 0.61062])).toBe('0.6104 ±0.0002');
    expect([withInterval(1, [1, 1]), withInterval(0.5, null), withInterval(null, null)]).toEqual([
      ...['1.00 [1.00, 1.00]', '0.50 (no interval)', '–'],
    ]);
    expect([differenceText(0.06, [-0.02, 0.14]), differenceText(-0.001, null)]).toEqual([
      ...['+0.06 [-0.02, +0.14]', '0.00 (no interval)'],
    ]);
    expect(shareWithInterval(0.5821, [0.5801, 0.5841])).toBe('58.2 % [58.0 %, 58.4 %]');
    expect([shareWithInterval(1 / 3, [-1.1, 1.77]), shareWithInterval(0.9, [0.79, 1.01])]).toEqual([
      ...['33 % (too few tasks for an interval)', '90 % (too few tasks for an interval)'],
    ]);
    expect([meanText(-3.25), meanText(-0.0001)]).toEqual(['-3.25', '0.00']);
  });

  it('never rounds away on which side of 0 an end lies', () => {
    expect(signedIntervalText([0.001, 0.04])).toBe('[+0.001, +0.040]');
  });

  it('is rounded as on paper, the same as a mean and as a share', () => {
    expect([meanText(0.825), shareText(0.825)]).toEqual(['0.83', '83 %']);
    expect([meanText(1.005), meanText(-0.125), meanText(1e300)]).toEqual(['1.01', '-0.13', '1e+300']);
  });

  it('is 100 % or 0 % only where it is that', () => {
    expect([1, 0.9999, 0.995, 0.58, 0.0001, 0, null].map((share) => shareText(share))).toEqual([
      ...['100 %', '99.9 %', '99.5 %', '58 %', '0.1 %', '0 %', '–'],
    ]);
  });

  it('has further decimals where it would look like a threshold and is not', () => {
    expect([meanBeside(0.79999, 0.8), meanBeside(0.8, 0.8), meanBeside(0.7, 0.8)]).toEqual(['0.79999', '0.80', '0.70']);
    expect([shareBeside(0.899, 0.9), shareBeside(0.55, 0.9), shareBeside(0.9, 0.9)]).toEqual([
      '89.90 %',
      '55 %',
      '90 %',
    ]);
  });

  it('is short where it is a reward, money, tokens, time, size or a probability', () => {
    expect([1, 0.25, 1 / 3, -0.0001, null].map(rewardText)).toEqual(['1', '0.25', '0.333', '0', '–']);
    expect([3.2, 1_234.5, 0.0042, 0.00000042, 0, null].map(moneyText)).toEqual([
      ...['$3.20', '$1,234.50', '$0.0042', '$0.00000042', '$0.00', '–'],
    ]);
    expect([12, 1_234, 56_000, 2_400_000].map(tokensText)).toEqual(['12', '1.2k', '56k', '2.4M']);
    expect([4, 900, 42_000, 12_340, 200_000, 720_000, 7_500_000].map(durationText)).toEqual([
      ...['4 ms', '900 ms', '42 s', '12.3 s', '3 min 20 s', '12 min', '2 h 5 min'],
    ]);
    expect([0, 999, 3_200_000].map(bytesText)).toEqual(['0 B', '999 B', '3.2 MB']);
    expect([0.0001, 0.0312, 0.42, null].map(probabilityText)).toEqual(['< 0.001', '0.031', '0.42', '–']);
    expect([0.0001, 0.0312].map(probabilitySentence)).toEqual(['p < 0.001', 'p = 0.031']);
  });

  it('says what it counts, in the number that fits', () => {
    expect([countText(1, 'run'), countText(2_000, 'run'), countText(0, 'process', 'processes')]).toEqual([
      ...['1 run', '2,000 runs', '0 processes'],
    ]);
    expect(grouped(1_600)).toBe('1,600');
    expect(spreadText({ median: 2.5, p95: 32.599999999999994 })).toBe('2.5 (median), 32.6 (p95)');
    expect(spreadText({ median: null, p95: null })).toBe('–');
  });
});
