/** The longest time that a timer of Node.js holds, 24.8 days: the SDK has no "no limit", and its default is a minute. */
export const NO_TIMEOUT_MS = 2 ** 31 - 1;
