import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { attemptsInAll, begunOf, placeAt, seedOf } from '../../../src/evaluation/evaluations/attempt-order.ts';

const GRID = { tasks: 3, models: 2, attempts: 4 };

describe('the order of attempts', () => {
  it('begins the first attempt of every task and model before any second one', () => {
    const places = Array.from({ length: attemptsInAll(GRID) }, (_, position) => placeAt(GRID, position));
    expect(places.slice(0, 7)).toEqual([
      { attemptIndex: 1, taskIndex: 0, modelIndex: 0 },
      { attemptIndex: 1, taskIndex: 0, modelIndex: 1 },
      { attemptIndex: 1, taskIndex: 1, modelIndex: 0 },
      { attemptIndex: 1, taskIndex: 1, modelIndex: 1 },
      { attemptIndex: 1, taskIndex: 2, modelIndex: 0 },
      { attemptIndex: 1, taskIndex: 2, modelIndex: 1 },
      { attemptIndex: 2, taskIndex: 0, modelIndex: 0 },
    ]);
    expect(new Set(places.map((place) => JSON.stringify(place))).size).toBe(24);
  });

  it('counts the attempts of a task and model that have begun, at every position', () => {
    for (let position = 0; position <= attemptsInAll(GRID); position += 1) {
      const begun = Array.from({ length: position }, (_, index) => placeAt(GRID, index));
      for (let taskIndex = 0; taskIndex < GRID.tasks; taskIndex += 1) {
        for (let modelIndex = 0; modelIndex < GRID.models; modelIndex += 1) {
          const own = begun.filter((place) => place.taskIndex === taskIndex && place.modelIndex === modelIndex);
          expect(begunOf(GRID, { taskIndex, modelIndex }, position)).toBe(own.length);
        }
      }
    }
  });
});

describe('the seed of an attempt', () => {
  it('is the first 4 bytes of the hash, big-endian, shifted right by one', () => {
    const hash = createHash('sha256').update('7\ntask ä\n2', 'utf8').digest();
    expect(seedOf(7, 'task ä', 2)).toBe(hash.readUInt32BE(0) >>> 1);
    expect(seedOf(-3, 'a', 1)).toBeLessThan(2 ** 31);
  });

  it('is null where the evaluation has none', () => {
    expect(seedOf(null, 'a', 1)).toBeNull();
    expect(seedOf(0, 'a', 1)).not.toBeNull();
  });
});
