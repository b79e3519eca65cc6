import { randomBytes } from 'node:crypto';
import { ApiError } from '../../contract/errors.ts';
import { LOCAL_ACCOUNT } from '../../contract/names.ts';
import type { Caller } from '../../support/http/api/route.ts';
import type { Database, DatabaseTransaction } from '../database/database.ts';
import type { ApiKeysTable } from '../database/tables/schema.ts';
import type { ApiKeyEntry, ApiKeys, NewApiKey } from './accounts.ts';
import { hashSecret, randomSecret } from './secret.ts';

/** Milliseconds that an answer of `verifyKey` is cached (contract section 3, "Keys"). */
const VERIFIED_FOR_MS = 5_000;
const ID = /^key_[0-9a-f]{16}$/i;
const MAX_VERIFIED_KEYS = 10_000;

export function createDatabaseKeys(database: Database, now: () => number): ApiKeys {
  const { kysely } = database;
  const verified = new Map<string, { readonly caller: Caller; readonly until: number }>();

  return {
    async createKey(wanted) {
      checkKey(wanted);
      const key = `pk_${randomSecret()}`;
      const row = toRow(wanted, key, now());
      // The table lock makes sure that a name is taken once.
      await database.transaction((transaction) => insertKey(transaction, row), { locking: ['api_keys'] });
      return { id: row.id, name: row.name, account: row.account, key };
    },

    async listKeys() {
      const rows = await kysely.selectFrom('api_keys').selectAll().orderBy('created_at').orderBy('id').execute();
      return rows.map(toEntry);
    },

    async revokeKey(nameOrId) {
      // A transaction reaches the disk, so that a power cut cannot put the key in force again.
      const row = await database.transaction(async (transaction) => {
        // An id selects only its own key, even a revoked one: keys of older versions may have a name that looks like an
        // id.
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
      const keyHash = hashSecret(key);
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
  };
}

function toRow({ name, account = LOCAL_ACCOUNT, ...limits }: NewApiKey, key: string, createdAt: number): ApiKeysTable {
  return {
    id: `key_${randomBytes(8).toString('hex')}`,
    name,
    account,
    key_hash: hashSecret(key),
    requests_per_minute: limits.requestsPerMinute ?? null,
    concurrent_runs: limits.concurrentRuns ?? null,
    created_at: createdAt,
    revoked_at: null,
  };
}

/** @throws ApiError when a key in force has the same name. */
async function insertKey(transaction: DatabaseTransaction, row: ApiKeysTable): Promise<void> {
  const namesake = await transaction
    .selectFrom('api_keys')
    .select('id')
    .where('name', '=', row.name)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (namesake !== undefined) {
    throw new ApiError(
      'invalid_parameter',
      `There is a key called ${JSON.stringify(row.name)} already (${namesake.id}): revoke it first, or take another name.`,
      { param: 'name' },
    );
  }
  await transaction.insertInto('api_keys').values(row).execute();
}

function checkKey({ name, account = LOCAL_ACCOUNT, requestsPerMinute, concurrentRuns }: NewApiKey): void {
  checkName('name', name);
  checkIsNoId(name);
  checkName('account', account);
  checkLimit('requests_per_minute', requestsPerMinute);
  checkLimit('concurrent_runs', concurrentRuns);
}

function checkName(what: string, value: string): void {
  if (/^[\w.@-]{1,64}$/.test(value)) return;
  throw new ApiError(
    'invalid_parameter',
    `The ${what} of a key is 1 to 64 letters, digits, ".", "_", "-" or "@", not ${JSON.stringify(value)}.`,
    { param: what },
  );
}

/** Refuses a name that looks like an id: `revoke` could not tell which key it means. */
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
