import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { backoffMs, sleep } from '../../../src/support/runtime/backoff.ts';

it('the wait before a retry doubles up to its limit, and is up to a quarter shorter', () => {
  const backoff = { firstMs: 100, longestMs: 500 };
  const waits = (random: number) => [0, 1, 2, 3, 40].map((retry) => backoffMs(retry, backoff, () => random));
  expect(waits(0)).toEqual([100, 200, 400, 500, 500]);
  expect(waits(1)).toEqual([75, 150, 300, 375, 375]);
  expect(backoffMs(10, { firstMs: 1 }, () => 0)).toBe(1_024);
});

it('a sleep ends at once with the reason of its signal, and leaves no listener', async () => {
  const reason = new Error('enough');
  const controller = new AbortController();
  await sleep(1, controller.signal);
  const rejection = expect(sleep(60_000, controller.signal)).rejects.toBe(reason);
  controller.abort(reason);
  await rejection;
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  await expect(sleep(60_000, controller.signal)).rejects.toBe(reason);
});
