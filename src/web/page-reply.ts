import type { RouteReply } from '../http/route.ts';

/**
 * No script at all, and nothing from anywhere else: whatever a model or a tool wrote is text on these pages. Styles are
 * one file of our own; inline styles are refused too.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

const HEADERS = {
  'cache-control': 'no-store',
  // Not `no-referrer`: under that a browser sends our own forms with `Origin: null`, which is refused.
  'referrer-policy': 'same-origin',
} as const;

export function pageReply(html: string, status = 200): RouteReply {
  return {
    status,
    headers: {
      ...HEADERS,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'x-content-type-options': 'nosniff',
    },
    body: html,
  };
}

/** To another page of ours, by GET. */
export function redirectReply(location: string, cookie?: string): RouteReply {
  return { status: 303, headers: { ...HEADERS, location, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) } };
}
