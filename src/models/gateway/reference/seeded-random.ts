/** Reproducible random numbers: the same seed gives the same sequence. Not for secrets. */
export interface SeededRandom {
  /** A number of 0 or more and less than 1. */
  next(): number;
  /** A whole number from `least` to `most`, both included. */
  integer(least: number, most: number): number;
  /** @throws RangeError for an empty list. */
  pick<T>(list: readonly T[]): T;
  chance(probability: number): boolean;
}

/** @param seed any safe integer. */
export function createSeededRandom(seed: number): SeededRandom {
  let state = mix(seed);
  // Mulberry32: 32 bits of state are enough for a reference agent.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (least: number, most: number) => least + Math.floor(next() * (most - least + 1));
  return {
    next,
    integer,
    pick: (list) => {
      const picked = list[integer(0, list.length - 1)];
      if (picked === undefined && list.length === 0) throw new RangeError('There is nothing to pick from');
      return picked as (typeof list)[number];
    },
    chance: (probability) => next() < probability,
  };
}

/** FNV-1a over the digits, so that similar seeds start far apart. */
function mix(seed: number): number {
  let hash = 0x811c9dc5;
  for (const digit of String(seed)) hash = Math.imul(hash ^ digit.charCodeAt(0), 0x01000193);
  return hash | 0;
}
