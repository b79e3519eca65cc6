import type { RouteReply } from '../http/route.ts';

/** Whatever a model or a tool wrote is text on our pages. Styles are files of our own; inline styles are refused too. */
const BASE_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];

/** No script at all: the sign-in form, and what is not found. */
const FORM_POLICY = [...BASE_POLICY, "img-src 'self' data:"].join('; ');

/** Our own script, which may talk to this server alone, and which cannot turn a text into markup (trusted types). */
const APP_POLICY = [
  ...BASE_POLICY,
  "script-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'cache-control': 'no-store',
  // Not `no-referrer`: under that a browser sends our own forms with `Origin: null`, which is refused.
  'referrer-policy': 'same-origin',
} as const;

const HTML_HEADERS = {
  ...HEADERS,
  'content-type': 'text/html; charset=utf-8',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** A page without script. */
export function pageReply(html: string, status = 200): RouteReply {
  return { status, headers: { ...HTML_HEADERS, 'content-security-policy': FORM_POLICY }, body: html };
}

/** The page that starts the application. */
export function appReply(html: string): RouteReply {
  return { headers: { ...HTML_HEADERS, 'content-security-policy': APP_POLICY }, body: html };
}

/** A page that is kept as a file; opened here it would be nothing. */
export function fileReply(html: string, name: string): RouteReply {
  return {
    headers: {
      ...HTML_HEADERS,
      'content-security-policy': "default-src 'none'; sandbox",
      'content-disposition': `attachment; filename="${name}"`,
    },
    body: html,
  };
}

/** To another page of ours, by GET. */
export function redirectReply(location: string, cookie?: string): RouteReply {
  return { status: 303, headers: { ...HEADERS, location, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) } };
}
