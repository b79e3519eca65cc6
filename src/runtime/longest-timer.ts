/**
 * The longest time that a timer of Node.js holds, 24.8 days, in milliseconds: beyond it, it fires at once. Requests of the
 * MCP SDK, whose default is a minute, get it where they have no limit.
 */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
