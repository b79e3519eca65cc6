import { describe, expect, it } from 'vitest';
import { RequestLimits } from '../../../src/store/accounts/request-limits.ts';

describe('the requests of a key in a minute', () => {
  it('are counted up to the limit, and those beyond it are told how long to wait', () => {
    let now = 1_000;
    const limits = new RequestLimits(() => now);
    expect([limits.take('a', 2), limits.take('a', 2)]).toEqual([undefined, undefined]);
    expect(limits.take('a', 2)).toBe(60_000);
    now += 20_000;
    expect(limits.take('a', 2)).toBe(40_000);
    expect(limits.take('b', 2)).toBeUndefined();
  });

  it('slide: no minute has more than the limit, whenever it begins', () => {
    let now = 0;
    const limits = new RequestLimits(() => now);
    const allowed: number[] = [];
    for (; now < 600_000; now += 700) if (limits.take('a', 10) === undefined) allowed.push(now);
    for (const start of allowed) {
      expect(allowed.filter((at) => at >= start && at < start + 60_000).length).toBeLessThanOrEqual(10);
    }
    expect(allowed.length).toBeGreaterThanOrEqual(99);
  });

  it('that were refused do not count', () => {
    let now = 0;
    const limits = new RequestLimits(() => now);
    limits.take('a', 1);
    for (; now < 59_999; now += 1_000) expect(limits.take('a', 1)).toBeGreaterThan(0);
    now = 60_000;
    expect(limits.take('a', 1)).toBeUndefined();
  });

  it('follow a limit that was lowered or raised', () => {
    let now = 0;
    const limits = new RequestLimits(() => now);
    for (let index = 0; index < 5; index++, now += 1_000) limits.take('a', 5);
    expect(limits.take('a', 2)).toBe(58_000);
    expect(limits.take('a', 6)).toBeUndefined();
  });
});
