import { describe, expect, it } from 'vitest';
import {
  type AdaptiveLimit,
  afterRefusal,
  afterServerError,
  afterSuccess,
  callsAtOnce,
  LIMIT,
  newLimit,
} from '../../../src/models/gateway/adaptive-limit.ts';

const CEILING = 100;
const at = (now: number) => ({ now, ceiling: CEILING });
const refusal = (state: AdaptiveLimit) => ({ sentAt: state.cuts, inUse: 1 });

/** After its slow start, at some limit, with nothing that holds it back. */
function steady(limit: number): AdaptiveLimit {
  return { ...newLimit(CEILING), limit, isStarting: false };
}

describe('the limit of calls of a model', () => {
  it('doubles with each clean round at its start', () => {
    let state = newLimit(CEILING);
    const limits = [state.limit];
    for (let round = 0; round < 3; round += 1) {
      state = afterSuccess(state, state.limit, at(0));
      limits.push(state.limit);
    }
    expect(limits).toEqual([16, 32, 64, 100]);
  });

  it('grows by 5 % with each clean round afterwards', () => {
    const state = afterSuccess(steady(40), 40, at(0));
    expect(state.limit).toBe(42);
    expect(afterSuccess(state, 41, at(0)).limit).toBe(42);
    expect(afterSuccess(state, 42, at(0)).limit).toBeCloseTo(44.1);
  });

  it('falls to 0.8 of it when a call is refused, and rests for 15 s', () => {
    const cut = afterRefusal(steady(50), refusal(steady(50)), at(1_000));
    expect(cut.limit).toBe(40);
    expect(afterSuccess(cut, 1_000, at(15_999)).limit).toBe(40);
    expect(afterSuccess(cut, 40, at(16_000)).limit).toBe(42);
  });

  it('rests for as long as the gateway asks, 10 minutes at most', () => {
    const state = steady(50);
    const minute = afterRefusal(state, { ...refusal(state), retryAfterMs: 60_000 }, at(0));
    expect(afterSuccess(minute, 1_000, at(59_999)).limit).toBe(40);
    expect(afterSuccess(minute, 40, at(60_000)).limit).toBe(42);
    const hour = afterRefusal(state, { ...refusal(state), retryAfterMs: 3_600_000 }, at(0));
    expect(afterSuccess(hour, 40, at(600_000)).limit).toBe(42);
  });

  it('is cut once for all calls that were on their way', () => {
    const before = steady(50);
    const cut = afterRefusal(before, refusal(before), at(0));
    expect(afterRefusal(cut, refusal(before), at(10)).limit).toBe(40);
    expect(afterRefusal(cut, refusal(cut), at(20)).limit).toBe(32);
  });

  it('is cut from what was in use where that was less', () => {
    expect(afterRefusal(steady(50), { sentAt: 0, inUse: 0.4 }, at(0)).limit).toBe(16);
  });

  it('stays below what was refused for a minute', () => {
    let state = afterRefusal(steady(40), refusal(steady(40)), at(0));
    state = afterSuccess(state, 10_000, at(30_000));
    expect(state.limit).toBe(38);
    expect(afterSuccess(state, 38, at(60_000)).limit).toBeCloseTo(39.9);
  });

  it('does not grow for 15 s after an error of the server, and does not fall', () => {
    const state = afterServerError(steady(40), { now: 0 });
    expect(afterSuccess(state, 1_000, at(14_999)).limit).toBe(40);
    expect(afterSuccess(state, 40, at(15_000)).limit).toBe(42);
  });

  it('is never under 4, nor above the ceiling, also where that is under 4', () => {
    for (const ceiling of [1, 2, 3, 4, 5, 32]) {
      let state = newLimit(ceiling);
      for (let turn = 0; turn < 20; turn += 1) {
        state = afterSuccess(state, 1_000, { now: turn * 100_000, ceiling });
        expect(callsAtOnce(state, ceiling)).toBeLessThanOrEqual(ceiling);
      }
      expect(callsAtOnce(state, ceiling)).toBe(ceiling);
      for (let turn = 0; turn < 20; turn += 1) state = afterRefusal(state, refusal(state), { now: 0, ceiling });
      expect(callsAtOnce(state, ceiling)).toBe(Math.min(LIMIT.lowest, ceiling));
    }
  });

  it('outlasts clocks that jump: it rests for 10 minutes at most', () => {
    const year = 365 * 24 * 3_600_000;
    const cut = afterRefusal(steady(50), refusal(steady(50)), at(year));
    const back = afterSuccess(cut, 1_000, at(0));
    expect(back.limit).toBe(40);
    expect(afterSuccess(back, 40, at(600_000)).limit).toBe(42);
    const forth = afterRefusal(steady(50), refusal(steady(50)), at(0));
    expect(afterSuccess(forth, 40, at(year)).limit).toBe(42);
  });
});

describe('a gateway that refuses more than 40 calls at once', () => {
  it.each([200, 1_000, 10_000])(
    'is used to 85 %% of that, and refuses under 3 %% after a minute: calls of %d ms',
    (callMs) => {
      const { answered, refused } = play({ callMs, capacity: 40, fromMs: 60_000, untilMs: 960_000 });
      const best = (40 * 900_000) / callMs;
      expect(answered / best).toBeGreaterThanOrEqual(0.85);
      expect(refused / (answered + refused)).toBeLessThan(0.03);
    },
  );
});

interface Game {
  readonly callMs: number;
  readonly capacity: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Plays calls of some length by a clock of its own; there is always one more to make. Refused ones come back after 0.5 s. */
function play({ callMs, capacity, fromMs, untilMs }: Game): { readonly answered: number; readonly refused: number } {
  let state = newLimit(CEILING);
  let running = 0;
  let waiting = 0;
  const counts = { answered: 0, refused: 0 };
  const events: { at: number; type: 'end' | 'again'; sentAt: number }[] = [];
  const plan = (event: (typeof events)[number]) => {
    const place = events.findIndex((each) => each.at > event.at);
    events.splice(place === -1 ? events.length : place, 0, event);
  };
  const send = (now: number) => {
    const sentAt = state.cuts;
    const isCounted = now >= fromMs;
    if (running < capacity) {
      running += 1;
      // Calls are not equally long.
      plan({ at: now + callMs * (0.75 + ((now * 7 + running * 13) % 50) / 100), type: 'end', sentAt });
      return;
    }
    if (isCounted) counts.refused += 1;
    waiting += 1;
    state = afterRefusal(state, { sentAt, inUse: (running + waiting) / callsAtOnce(state, CEILING) }, at(now));
    plan({ at: now + 500, type: 'again', sentAt });
  };
  let now = 0;
  while (now < untilMs) {
    while (running + waiting < callsAtOnce(state, CEILING)) send(now);
    const next = events.shift();
    if (next === undefined) break;
    now = next.at;
    if (next.type === 'again') waiting -= 1;
    else {
      const isFull = running + waiting >= callsAtOnce(state, CEILING);
      running -= 1;
      if (now >= fromMs) counts.answered += 1;
      if (isFull) state = afterSuccess(state, 1, at(now));
    }
  }
  return counts;
}
