import { LONGEST_TIMER_MS } from '../contract/names.ts';

/** For requests of the MCP SDK, which has no "no limit", and whose default is a minute. */
export const NO_TIMEOUT_MS = LONGEST_TIMER_MS;
