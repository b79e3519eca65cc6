import { describe, expect, it } from 'vitest';
import { waitForEnd } from '../../../src/support/runtime/wait-for-end.ts';

const HOUR = { seconds: 3_600, signal: new AbortController().signal };

describe('a wait for an end', () => {
  it('looks until the end has come', async () => {
    let looks = 0;
    await waitForEnd({ isEnded: async () => ++looks === 3 }, HOUR);
    expect(looks).toBe(3);
  });

  it('looks at once for a hint, also for one that comes during a look, and unsubscribes', async () => {
    let isOver = false;
    let isSubscribed = false;
    let hint = () => {};
    const looks: boolean[] = [];
    await waitForEnd(
      {
        async isEnded() {
          looks.push(isOver);
          if (looks.length === 1) hint();
          if (looks.length === 2) isOver = true;
          return looks.at(-1) === true;
        },
        subscribe(onHint) {
          isSubscribed = true;
          hint = onHint;
          return () => {
            isSubscribed = false;
          };
        },
      },
      HOUR,
    );
    expect(looks).toEqual([false, false, true]);
    expect(isSubscribed).toBe(false);
  });

  it('is over when its time is up, and does not look where it has none', async () => {
    let looks = 0;
    const look = { isEnded: async () => ++looks < 0 };
    await waitForEnd(look, { ...HOUR, seconds: 0 });
    expect(looks).toBe(0);
    await waitForEnd(look, { ...HOUR, seconds: 0.01 });
    expect(looks).toBeGreaterThan(0);
  });

  it('is over without an error when its signal is aborted', async () => {
    const stop = new AbortController();
    await waitForEnd(
      {
        async isEnded() {
          stop.abort(new Error('The client is gone'));
          return false;
        },
      },
      { ...HOUR, signal: stop.signal },
    );
  });

  it('rejects with the error of a look', async () => {
    const look = async () => {
      throw new Error('There is no such row');
    };
    await expect(waitForEnd({ isEnded: look }, HOUR)).rejects.toThrow('There is no such row');
  });
});
