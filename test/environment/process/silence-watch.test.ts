import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { SilenceWatch } from '../../../src/environment/process/silence-watch.ts';

describe('the watch over somebody who reports all the time', () => {
  let now = 0;
  beforeEach(() => {
    now = 0;
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    vi.spyOn(performance, 'now').mockImplementation(() => now);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
  const pass = (ms: number) => {
    for (let left = ms; left > 0; left -= 500) {
      now += 500;
      vi.advanceTimersByTime(500);
    }
  };

  it('tells once that nothing was said for as long as the limit, since the last word', () => {
    const told: number[] = [];
    const watch = new SilenceWatch(30_000, (ms) => told.push(ms));
    watch.start();
    pass(20_000);
    watch.hear();
    pass(29_500);
    expect(told).toEqual([]);
    pass(60_000);
    expect(told).toEqual([30_000]);
  });

  it('does not take its own sleep for the silence of the other', () => {
    const told: number[] = [];
    const watch = new SilenceWatch(30_000, (ms) => told.push(ms));
    watch.start();
    now += 3_600_000;
    pass(10_000);
    watch.hear();
    pass(10_000);
    expect(told).toEqual([]);
    watch.stop();
    pass(60_000);
    expect(told).toEqual([]);
  });
});
