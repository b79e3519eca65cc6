import { MAX_WAIT_SECONDS } from '../trace-routes/wait-for-end.ts';

/**
 * The `wait` of a `Prefer` header (RFC 7240), in seconds; more than 240 is taken as 240. What is no preference of ours is
 * ignored, as that standard asks.
 */
export function parsePreferredWait(header: string | readonly string[] | undefined): number | undefined {
  for (const preference of String(header ?? '').split(',')) {
    const seconds = /^\s*wait\s*=\s*"?(\d+)"?\s*(?:;.*)?$/i.exec(preference)?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds), MAX_WAIT_SECONDS);
  }
  return undefined;
}
