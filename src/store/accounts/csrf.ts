import { createHmac, timingSafeEqual } from 'node:crypto';

/** The token that a change from a page has to carry. Only code that can read the session's pages knows it. */
export function csrfToken(session: string): string {
  return createHmac('sha256', session).update('proctor csrf').digest('base64url');
}

/** Compares in constant time. */
export function isCsrfToken(session: string, token: string): boolean {
  const expected = Buffer.from(csrfToken(session));
  const given = Buffer.from(token);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
