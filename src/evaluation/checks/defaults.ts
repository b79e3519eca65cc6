/** Default settings of a check. Times are in milliseconds. */
export const CHECK_DEFAULTS = { tasks: 5, seed: 0, threshold: 1, limitMs: 30_000, maxMs: 300_000 } as const;
