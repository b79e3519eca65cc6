import type { Database } from '../database/database.ts';
import type { BrowserSession, SignIns } from './accounts.ts';
import { hashSecret, randomSecret } from './secret.ts';

const SIGN_IN_TOKEN_LIFE_MS = 15 * 60_000;
const BROWSER_SESSION_LIFE_MS = 30 * 24 * 60 * 60_000;

export function createDatabaseSignIns({ kysely }: Database, now: () => number): SignIns {
  async function createBrowserSession(account: string): Promise<BrowserSession> {
    const session = randomSecret();
    const expiresAt = now() + BROWSER_SESSION_LIFE_MS;
    await kysely.deleteFrom('browser_sessions').where('expires_at', '<=', now()).execute();
    await kysely
      .insertInto('browser_sessions')
      .values({ session_hash: hashSecret(session), account, expires_at: expiresAt })
      .execute();
    return { session, account, expiresAt: new Date(expiresAt) };
  }

  return {
    createBrowserSession,

    async createSignInToken(account) {
      const token = randomSecret();
      await kysely.deleteFrom('sign_in_tokens').where('expires_at', '<=', now()).execute();
      await kysely
        .insertInto('sign_in_tokens')
        .values({ token_hash: hashSecret(token), account, expires_at: now() + SIGN_IN_TOKEN_LIFE_MS })
        .execute();
      return token;
    },

    async redeemSignInToken(token) {
      const spent = await kysely
        .deleteFrom('sign_in_tokens')
        .where('token_hash', '=', hashSecret(token))
        .returning(['account', 'expires_at'])
        .executeTakeFirst();
      if (spent === undefined || spent.expires_at <= now()) return undefined;
      return createBrowserSession(spent.account);
    },

    async verifyBrowserSession(session) {
      return kysely
        .selectFrom('browser_sessions')
        .select('account')
        .where('session_hash', '=', hashSecret(session))
        .where('expires_at', '>', now())
        .executeTakeFirst();
    },

    async removeSignIns(account) {
      // Tokens go first: one that is spent afterwards would make another session.
      await kysely.deleteFrom('sign_in_tokens').where('account', '=', account).execute();
      await kysely.deleteFrom('browser_sessions').where('account', '=', account).execute();
    },
  };
}
