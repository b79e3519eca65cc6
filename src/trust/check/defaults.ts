/** The settings of a check where its caller does not say otherwise. Times are in milliseconds. */
export const CHECK_DEFAULTS = { tasks: 5, seed: 0, threshold: 1, limitMs: 30_000, maxMs: 300_000 } as const;
