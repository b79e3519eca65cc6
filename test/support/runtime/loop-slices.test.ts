import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LoopSlices } from '../../../src/support/runtime/loop-slices.ts';

/** Slices of 10 ms whose clock goes on by what the work takes. */
function slicesWithClock() {
  let now = 0;
  const slices = new LoopSlices({ sliceMs: 10, postponeMs: 50, now: () => now });
  const pass = (ms: number) => {
    now += ms;
  };
  return { slices, pass };
}

describe('slices of the event loop', () => {
  it('runs work at once while the turn has time, and the rest in later turns, in order', async () => {
    const { slices, pass } = slicesWithClock();
    const done: number[] = [];
    for (const each of [1, 2, 3, 4, 5]) {
      slices.run(() => {
        done.push(each);
        pass(6);
      });
    }
    expect(done).toEqual([1, 2]);
    await nextTurn();
    expect(done).toEqual([1, 2, 3, 4]);
    await nextTurn();
    expect(done).toEqual([1, 2, 3, 4, 5]);
  });

  it('lets nobody pass those that wait', async () => {
    const { slices, pass } = slicesWithClock();
    const done: string[] = [];
    slices.run(() => pass(10));
    const first = slices.turn()?.then(() => done.push('first'));
    slices.run(() => done.push('second'));
    expect(done).toEqual([]);
    await first;
    await nextTurn();
    expect(done).toEqual(['first', 'second']);
    expect(slices.turn()).toBeUndefined();
  });

  it('lets work that comes from work wait behind the others', async () => {
    const { slices, pass } = slicesWithClock();
    const done: string[] = [];
    slices.run(() => pass(10));
    slices.run(() => {
      done.push('first');
      slices.run(() => done.push('third'));
    });
    slices.run(() => done.push('second'));
    await nextTurn();
    await nextTurn();
    expect(done).toEqual(['first', 'second', 'third']);
  });

  it('counts what the promises of some work do, before the next begins', async () => {
    const { slices, pass } = slicesWithClock();
    const done: number[] = [];
    slices.run(() => pass(10));
    for (const each of [1, 2, 3]) {
      slices.run(
        () =>
          void Promise.resolve()
            .then(() => {})
            .then(() => {
              done.push(each);
              pass(10);
            }),
      );
    }
    await nextTurn();
    expect(done).toEqual([1]);
    await nextTurn();
    expect(done).toEqual([1, 2]);
    await nextTurn();
    expect(done).toEqual([1, 2, 3]);
  });

  it('lets connections in first, and not for longer than they may hold up work', async () => {
    const { slices, pass } = slicesWithClock();
    let isDone = false;
    slices.onAccepted();
    slices.run(() => {
      isDone = true;
    });
    for (let passed = 0; passed < 40; passed += 10) {
      await nextTurn();
      expect(isDone).toBe(false);
      slices.onAccepted();
      pass(10);
    }
    pass(10);
    await nextTurn();
    expect(isDone).toBe(true);
  });

  it('forgets connections that have held up nothing', async () => {
    const { slices, pass } = slicesWithClock();
    slices.onAccepted();
    await nextTurn();
    pass(1_000);
    slices.onAccepted();
    let isDone = false;
    slices.run(() => {
      isDone = true;
    });
    await nextTurn();
    expect(isDone).toBe(false);
    await nextTurn();
    expect(isDone).toBe(true);
  });

  it('begins when no more connections come', async () => {
    const { slices } = slicesWithClock();
    slices.onAccepted();
    const turn = slices.turn();
    expect(turn).toBeDefined();
    await turn;
  });

  it('keeps the async context of work that waits', async () => {
    const { slices, pass } = slicesWithClock();
    const storage = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    slices.run(() => pass(10));
    storage.run('session', () => slices.run(() => seen.push(storage.getStore())));
    await nextTurn();
    expect(seen).toEqual(['session']);
  });

  it('goes on after work that throws', async () => {
    const { slices, pass } = slicesWithClock();
    let isDone = false;
    slices.run(() => pass(10));
    const thrown = new Promise((resolve) => {
      process.once('uncaughtException', resolve);
    });
    slices.run(() => {
      throw new Error('of one session');
    });
    slices.run(() => {
      isDone = true;
    });
    expect(await thrown).toMatchObject({ message: 'of one session' });
    await nextTurn();
    expect(isDone).toBe(true);
  });
});
