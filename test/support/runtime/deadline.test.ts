import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeadlineError, endsWithin, untilAborted, withDeadline } from '../../../src/support/runtime/deadline.ts';
import { startDeadline } from '../../../src/support/runtime/start-deadline.ts';

beforeEach(() => void vi.useFakeTimers());

afterEach(() => {
  expect(vi.getTimerCount(), 'timers that were left behind').toBe(0);
  vi.useRealTimers();
});

describe('work with a deadline', () => {
  it('that ends in time gives its result and leaves no listener and no timer', async () => {
    const { signal } = new AbortController();
    expect(await withDeadline(async () => 'done', { ms: 1_000, signal })).toBe('done');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that fails in time rejects with its own error and leaves no listener', async () => {
    const { signal } = new AbortController();
    const failed = new Error('no');
    await expect(withDeadline(() => Promise.reject(failed), { ms: 1_000, signal })).rejects.toBe(failed);
    await expect(
      withDeadline(
        () => {
          throw failed;
        },
        { ms: 1_000, signal },
      ),
    ).rejects.toBe(failed);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('that is late rejects with the error of the deadline, and aborts the signal of the work with it', async () => {
    const { signal } = new AbortController();
    let given: AbortSignal | undefined;
    const toError = (limit: string) => new Error(`not within ${limit}`);
    const late = withDeadline(
      (own) => {
        given = own;
        return forever();
      },
      { ms: 2_500, signal, toError },
    );
    const rejected = expect(late).rejects.toThrow('not within 2.5 s');
    await vi.advanceTimersByTimeAsync(2_500);
    await rejected;
    expect(given?.reason).toEqual(new Error('not within 2.5 s'));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('that is late has an error of its own by default', async () => {
    const rejected = expect(withDeadline(forever, { ms: 20 })).rejects.toEqual(new DeadlineError('20 ms'));
    await vi.advanceTimersByTimeAsync(20);
    await rejected;
  });

  it('that its caller aborts rejects with the reason of the signal, not with what the work makes of it', async () => {
    const controller = new AbortController();
    const work = withDeadline(
      async (signal) => {
        await untilAborted(forever(), signal).catch(() => {});
        throw new Error('The connection was closed');
      },
      { ms: 1_000, signal: controller.signal },
    );
    const reason = new Error('cancelled');
    controller.abort(reason);
    await expect(work).rejects.toBe(reason);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('does not start where the signal is aborted already', async () => {
    let isStarted = false;
    const reason = new Error('too late');
    const work = async () => {
      isStarted = true;
    };
    await expect(withDeadline(work, { ms: 1_000, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(isStarted).toBe(false);
  });

  it('may fail after its deadline: the failure is no unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    try {
      let fail: (error: Error) => void = () => {};
      const work = new Promise<never>((_, reject) => {
        fail = reject;
      });
      const rejected = expect(withDeadline(() => work, { ms: 5 })).rejects.toBeInstanceOf(DeadlineError);
      await vi.advanceTimersByTimeAsync(5);
      await rejected;
      fail(new Error('failed late'));
      vi.useRealTimers();
      await new Promise((resolve) => setImmediate(resolve));
      vi.useFakeTimers();
      expect(unhandled).toEqual([]);
    } finally {
      process.off('unhandledRejection', onUnhandled);
    }
  });

  it('has all the time where the limit is above the longest timer', async () => {
    const done = withDeadline(() => new Promise((resolve) => setTimeout(() => resolve('done'), 50)), { ms: 2 ** 31 });
    await vi.advanceTimersByTimeAsync(50);
    expect(await done).toBe('done');
  });
});

describe('work that goes on by itself', () => {
  it('has ended in time, or has not', async () => {
    expect(await endsWithin(Promise.resolve(), 1_000)).toBe(true);
    expect(await endsWithin(Promise.resolve(), undefined)).toBe(true);
    const late = endsWithin(forever(), 1_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await late).toBe(false);
  });

  it('that fails in time rejects', async () => {
    await expect(endsWithin(Promise.reject(new Error('no')), 1_000)).rejects.toThrow('no');
    const cancelled = new Error('cancelled');
    await expect(endsWithin(forever(), undefined, AbortSignal.abort(cancelled))).rejects.toBe(cancelled);
  });
});

describe('a wait that a signal ends', () => {
  it('rejects with the reason as an error, and leaves no listener', async () => {
    const controller = new AbortController();
    const wait = untilAborted(forever(), controller.signal);
    controller.abort('the client cancelled');
    await expect(wait).rejects.toEqual(new Error('the client cancelled'));
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    await expect(untilAborted(forever(), AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    const { signal } = new AbortController();
    expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('a deadline', () => {
  it('counts down, and aborts its signal with an error that names the limit', async () => {
    const deadline = startDeadline(2_000, (limit) => new Error(`over after ${limit}`));
    await vi.advanceTimersByTimeAsync(500);
    expect(deadline.remainingMs()).toBe(1_500);
    await vi.advanceTimersByTimeAsync(1_500);
    expect(deadline.remainingMs()).toBe(0);
    expect(deadline.signal.reason).toEqual(new Error('over after 2 s'));
  });

  it('that is cleared never ends', async () => {
    const deadline = startDeadline(2_000, () => new Error('over'));
    deadline.clear();
    await vi.advanceTimersByTimeAsync(3_000);
    expect(deadline.signal.aborted).toBe(false);
  });
});

describe('a deadline that is paused', () => {
  it('stands still until all that paused it go on', async () => {
    const deadline = startDeadline(2_000, () => new Error('over'));
    await vi.advanceTimersByTimeAsync(500);
    const [first, second] = [deadline.pause(), deadline.pause()];
    await vi.advanceTimersByTimeAsync(60_000);
    expect(deadline.remainingMs()).toBe(1_500);
    first();
    first();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(deadline.signal.aborted).toBe(false);
    second();
    await vi.advanceTimersByTimeAsync(1_499);
    expect(deadline.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(deadline.signal.aborted).toBe(true);
    expect(deadline.remainingMs()).toBe(0);
  });

  it('that is over stays so', async () => {
    const deadline = startDeadline(1_000, () => new Error('over'));
    await vi.advanceTimersByTimeAsync(1_000);
    deadline.pause()();
    expect(deadline.remainingMs()).toBe(0);
  });
});

function forever(): Promise<never> {
  return new Promise(() => {});
}
