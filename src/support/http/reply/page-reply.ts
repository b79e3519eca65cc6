import type { RouteReply } from '../api/route.ts';

/**
 * Content security policy that keeps texts of models and tools from acting as markup. It also refuses inline styles.
 */
const BASE_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
];

/** Policy without scripts, for the sign-in form and the page of unknown paths. */
const FORM_POLICY = [...BASE_POLICY, "img-src 'self' data:"].join('; ');

/**
 * Policy for Proctor's own script. It may contact only this server and cannot turn text into markup (trusted types).
 */
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
  // `no-referrer` would make browsers send forms with `Origin: null`, which is refused.
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

/** A page that starts the application. `media` allows it to play sound embedded in the page. */
export function appReply(html: string, { media = false } = {}) {
  const policy = media ? `${APP_POLICY}; media-src data:` : APP_POLICY;
  return { headers: { ...HTML_HEADERS, 'content-security-policy': policy }, body: html };
}

/** The icon in the browser's tab. */
export const PAGE_ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" fill="none" stroke="#4d78e8">' +
    '<rect x="1.5" y="1.5" width="17" height="17" rx="5" stroke-width="2"/>' +
    '<path d="M5.8 10.4l2.9 2.9 5.6-6.2" stroke-width="2.4"/></svg>',
)}`;

/** A page for download as a file. Opened directly from the server it does not work. */
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

/** A redirect to another page, by GET. */
export function redirectReply(location: string, cookie?: string): RouteReply {
  return { status: 303, headers: { ...HEADERS, location, ...(cookie === undefined ? {} : { 'set-cookie': cookie }) } };
}
