import { createHash, randomBytes } from 'node:crypto';
import { ApiError } from '../contract/errors.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { ApiKeysTable } from '../database/schema.ts';
import type { Caller } from '../http/route.ts';
import type { Accounts, ApiKeyEntry, BrowserSession } from './accounts.ts';

export interface AccountsOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number;
}

/** How old an answer of `verifyKey` may be, in milliseconds (contract section 3, "Keys"). */
const VERIFIED_FOR_MS = 5_000;
const ID = /^key_[0-9a-f]{16}$/i;
const MAX_VERIFIED_KEYS = 10_000;
const SIGN_IN_TOKEN_LIFE_MS = 15 * 60_000;
const BROWSER_SESSION_LIFE_MS = 30 * 24 * 60 * 60_000;

/** Keys and sign-ins in the database. Nothing of it is open or running: there is nothing to close. */
export function createAccounts(database: Database, options: AccountsOptions = {}): Accounts {
  const { kysely } = database;
  const { now = Date.now } = options;
  const verified = new Map<string, { readonly caller: Caller; readonly until: number }>();

  async function createBrowserSession(account: string): Promise<BrowserSession> {
    const session = randomSecret();
    const expiresAt = now() + BROWSER_SESSION_LIFE_MS;
    await kysely.deleteFrom('browser_sessions').where('expires_at', '<=', now()).execute();
    await kysely
      .insertInto('browser_sessions')
      .values({ session_hash: hash(session), account, expires_at: expiresAt })
      .execute();
    return { session, account, expiresAt: new Date(expiresAt) };
  }

  return {
    async createKey({ name, account = 'local', requestsPerMinute, concurrentRuns }) {
      checkName('name', name);
      checkIsNoId(name);
      checkName('account', account);
      checkLimit('requests_per_minute', requestsPerMinute);
      checkLimit('concurrent_runs', concurrentRuns);
      const key = `pk_${randomSecret()}`;
      const id = `key_${randomBytes(8).toString('hex')}`;
      const insert = async (transaction: DatabaseTransaction) => {
        const namesake = await transaction
          .selectFrom('api_keys')
          .select('id')
          .where('name', '=', name)
          .where('revoked_at', 'is', null)
          .executeTakeFirst();
        if (namesake !== undefined) {
          throw new ApiError(
            'invalid_parameter',
            `There is a key called ${JSON.stringify(name)} already (${namesake.id}): revoke it first, or take another name.`,
            { param: 'name' },
          );
        }
        await transaction
          .insertInto('api_keys')
          .values({
            id,
            name,
            account,
            key_hash: hash(key),
            requests_per_minute: requestsPerMinute ?? null,
            concurrent_runs: concurrentRuns ?? null,
            created_at: now(),
            revoked_at: null,
          })
          .execute();
      };
      await database.transaction(insert, { locking: ['api_keys'] }); // so that a name is taken once
      return { id, name, account, key };
    },

    async listKeys() {
      const rows = await kysely.selectFrom('api_keys').selectAll().orderBy('created_at').orderBy('id').execute();
      return rows.map(toEntry);
    },

    async revokeKey(nameOrId) {
      // A transaction, so that a power cut cannot put the key in force again.
      const row = await database.transaction(async (transaction) => {
        // An id means its own key alone, also once that is revoked: keys of older versions may be named like it.
        const byId = await transaction
          .selectFrom('api_keys')
          .select('id')
          .where('id', '=', nameOrId)
          .executeTakeFirst();
        return await transaction
          .updateTable('api_keys')
          .set({ revoked_at: now() })
          .where(byId === undefined ? 'name' : 'id', '=', nameOrId)
          .where('revoked_at', 'is', null)
          .returningAll()
          .executeTakeFirst();
      });
      verified.clear();
      return row === undefined ? undefined : toEntry(row);
    },

    async verifyKey(key) {
      const keyHash = hash(key);
      const known = verified.get(keyHash);
      if (known !== undefined && now() < known.until) return known.caller;
      verified.delete(keyHash);
      const row = await kysely
        .selectFrom('api_keys')
        .selectAll()
        .where('key_hash', '=', keyHash)
        .where('revoked_at', 'is', null)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const caller: Caller = { account: row.account, keyId: row.id, requestsPerMinute: row.requests_per_minute };
      if (verified.size >= MAX_VERIFIED_KEYS) verified.clear();
      verified.set(keyHash, { caller, until: now() + VERIFIED_FOR_MS });
      return caller;
    },

    async isKeyInForce(id) {
      const row = await kysely
        .selectFrom('api_keys')
        .select('id')
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .executeTakeFirst();
      return row !== undefined;
    },

    async hasKeys({ except = [] } = {}) {
      const rows = await kysely.selectFrom('api_keys').select('name').where('revoked_at', 'is', null).execute();
      return rows.some(({ name }) => !except.includes(name));
    },

    async createSignInToken(account) {
      const token = randomSecret();
      await kysely.deleteFrom('sign_in_tokens').where('expires_at', '<=', now()).execute();
      await kysely
        .insertInto('sign_in_tokens')
        .values({ token_hash: hash(token), account, expires_at: now() + SIGN_IN_TOKEN_LIFE_MS })
        .execute();
      return token;
    },

    async redeemSignInToken(token) {
      const spent = await kysely
        .deleteFrom('sign_in_tokens')
        .where('token_hash', '=', hash(token))
        .returning(['account', 'expires_at'])
        .executeTakeFirst();
      if (spent === undefined || spent.expires_at <= now()) return undefined;
      return createBrowserSession(spent.account);
    },

    createBrowserSession,

    async verifyBrowserSession(session) {
      return kysely
        .selectFrom('browser_sessions')
        .select('account')
        .where('session_hash', '=', hash(session))
        .where('expires_at', '>', now())
        .executeTakeFirst();
    },
  };
}

function checkName(what: string, value: string): void {
  if (/^[\w.@-]{1,64}$/.test(value)) return;
  throw new ApiError(
    'invalid_parameter',
    `The ${what} of a key is 1 to 64 letters, digits, ".", "_", "-" or "@", not ${JSON.stringify(value)}.`,
    { param: what },
  );
}

/** A name that could be an id would make it unclear which key is revoked by it. */
function checkIsNoId(name: string): void {
  if (!ID.test(name)) return;
  throw new ApiError(
    'invalid_parameter',
    `The name of a key cannot have the form of a key's id, as ${JSON.stringify(name)} has: take another name.`,
    { param: 'name' },
  );
}

function checkLimit(what: string, limit: number | undefined): void {
  if (limit === undefined || (Number.isSafeInteger(limit) && limit >= 1)) return;
  throw new ApiError('invalid_parameter', `${what} is a whole number of at least 1, or left out, not ${limit}.`, {
    param: what,
  });
}

/** 256 random bits. */
function randomSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** A plain hash is enough for what cannot be guessed. */
function hash(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function toEntry(row: ApiKeysTable): ApiKeyEntry {
  return {
    id: row.id,
    name: row.name,
    account: row.account,
    requestsPerMinute: row.requests_per_minute,
    concurrentRuns: row.concurrent_runs,
    createdAt: new Date(row.created_at).toISOString(),
    revokedAt: row.revoked_at === null ? null : new Date(row.revoked_at).toISOString(),
  };
}
