import { setImmediate as nextTurn } from 'node:timers/promises';

/** Time as author code reads it: what a `fakeClock` replaces. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after so many milliseconds; rejects with the reason of the signal when that is aborted, and for NaN. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export interface FakeClock extends Clock {
  /**
   * Moves the time on and wakes who is due, in order, each at its own time: one that sleeps again within the span is
   * woken again. Resolves when all that they do without further waiting is done.
   *
   * @throws RangeError for what is not a finite number of 0 or more.
   */
  advance(milliseconds: number): Promise<void>;
  /** Resolves as soon as so many (default 1) sleep: a call crosses MCP first, and time that moves before it came is lost. */
  sleeping(count?: number): Promise<void>;
}

interface Sleeper {
  readonly dueAt: number;
  wake(): void;
}

/**
 * A clock that stands still until a test moves it. Its functions need no `this`: `now` fits every `now` option of the
 * framework, such as that of `serve`.
 *
 * @param startMs milliseconds since 1970; default 0.
 *
 * @example
 * ```ts
 * const clock = fakeClock();
 * await using env = await openEnvironment(() => oven(clock));
 * const baking = env.agent.call('bake', { ms: 3_600_000 });
 * await clock.sleeping(); // the call has arrived, and waits
 * await clock.advance(3_600_000);
 * expect((await baking).text).toBe('baked for 3600000 ms');
 * ```
 */
export function fakeClock(startMs = 0): FakeClock {
  let now = startMs;
  const sleepers = new Set<Sleeper>();
  const waiting = new Set<{ readonly count: number; resolve(): void }>();

  const sleep = (milliseconds: number, signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      // It would be due at no time, and take the clock with it.
      if (Number.isNaN(milliseconds)) return reject(new RangeError('sleep takes milliseconds, got NaN'));
      const end = () => {
        sleepers.delete(sleeper);
        signal?.removeEventListener('abort', abort);
      };
      const abort = () => {
        end();
        reject(signal?.reason);
      };
      const wake = () => {
        end();
        resolve();
      };
      const sleeper: Sleeper = { dueAt: now + Math.max(0, milliseconds), wake };
      signal?.addEventListener('abort', abort, { once: true });
      sleepers.add(sleeper);
      for (const waiter of waiting) if (sleepers.size >= waiter.count) waiter.resolve();
    });

  return {
    now: () => now,
    sleep,
    async advance(milliseconds) {
      if (!Number.isFinite(milliseconds) || milliseconds < 0) {
        throw new RangeError(`advance takes milliseconds of 0 or more, got ${milliseconds}`);
      }
      const target = now + milliseconds;
      for (;;) {
        await nextTurn();
        const next = earliest(sleepers);
        if (next === undefined || next.dueAt > target) break;
        now = Math.max(now, next.dueAt);
        next.wake();
      }
      now = Math.max(now, target);
    },
    sleeping: (count = 1) =>
      new Promise((resolve) => {
        if (sleepers.size >= count) return resolve();
        const waiter = {
          count,
          resolve: () => {
            waiting.delete(waiter);
            resolve();
          },
        };
        waiting.add(waiter);
      }),
  };
}

/** The first to be due; of several at once, the one that fell asleep first. */
function earliest(sleepers: ReadonlySet<Sleeper>): Sleeper | undefined {
  let first: Sleeper | undefined;
  for (const sleeper of sleepers) if (first === undefined || sleeper.dueAt < first.dueAt) first = sleeper;
  return first;
}
