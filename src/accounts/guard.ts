import type { AuthenticationOptions } from '../http/api-keys.ts';
import type { Accounts } from './accounts.ts';
import { readSessionCookie } from './session-cookie.ts';

/** Keys and signed-in browsers of an installation, as an HTTP server asks for them. */
export function guardedBy(accounts: Accounts): Required<Pick<AuthenticationOptions, 'verifyKey' | 'verifyBrowser'>> {
  return {
    verifyKey: (key) => accounts.verifyKey(key),
    verifyBrowser: async (cookie) => {
      const session = readSessionCookie(cookie);
      return session === undefined ? undefined : accounts.verifyBrowserSession(session);
    },
  };
}
