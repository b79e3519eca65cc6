import { MAX_WAIT_SECONDS } from '../../traces/wait-for-end.ts';

/**
 * Parses the `wait` of a `Prefer` header (RFC 7240) in seconds, at most 240. Other preferences are ignored, as the RFC
 * requires.
 */
export function parsePreferredWait(header: string | readonly string[] | undefined): number | undefined {
  for (const preference of String(header ?? '').split(',')) {
    const seconds = /^\s*wait\s*=\s*"?(\d+)"?\s*(?:;.*)?$/i.exec(preference)?.[1];
    if (seconds !== undefined) return Math.min(Number(seconds), MAX_WAIT_SECONDS);
  }
  return undefined;
}
