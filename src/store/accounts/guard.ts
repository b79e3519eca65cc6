import { ApiError } from '../../contract/errors.ts';
import type { AuthenticationOptions } from '../../support/http/api/api-keys.ts';
import type { Caller } from '../../support/http/api/route.ts';
import type { Accounts } from './accounts.ts';
import { isCsrfToken } from './csrf.ts';
import { RequestLimits } from './request-limits.ts';
import { readSessionCookie } from './session-cookie.ts';

/** Servers of one process with the same accounts share the limits, so that a second server does not double them. */
const limitsOf = new WeakMap<Accounts, RequestLimits>();

/** Checks keys and browser sessions for an HTTP server. Keys are held to their requests per minute. */
export function guardedBy(accounts: Accounts): Required<Pick<AuthenticationOptions, 'verifyKey' | 'verifyBrowser'>> {
  const limits = limitsOf.get(accounts) ?? new RequestLimits();
  limitsOf.set(accounts, limits);
  return {
    verifyKey: async (key) => {
      const caller = await accounts.verifyKey(key);
      if (caller !== undefined) checkLimit(caller, limits);
      return caller;
    },
    verifyBrowser: async (cookie) => {
      const session = readSessionCookie(cookie);
      const browser = session === undefined ? undefined : await accounts.verifyBrowserSession(session);
      if (session === undefined || browser === undefined) return undefined;
      return { account: browser.account, isPageToken: (token) => isCsrfToken(session, token) };
    },
  };
}

/** @throws ApiError rate_limit_exceeded */
function checkLimit({ keyId, requestsPerMinute }: Caller, limits: RequestLimits): void {
  if (keyId === null || requestsPerMinute === null) return;
  const waitMs = limits.take(keyId, requestsPerMinute);
  if (waitMs === undefined) return;
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  throw new ApiError(
    'rate_limit_exceeded',
    `This API key may make ${requestsPerMinute} requests a minute and has made them: try again in ${seconds} s.`,
    { headers: { 'retry-after': String(seconds) } },
  );
}
