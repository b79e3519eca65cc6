import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Accounts } from '../../../src/store/accounts/accounts.ts';
import { csrfToken, isCsrfToken } from '../../../src/store/accounts/csrf.ts';
import { createAccounts } from '../../../src/store/accounts/database-accounts.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

let database: Database;
let clock: { now: number };
let accounts: Accounts;
/** Of another process on the same database. */
let elsewhere: Accounts;

beforeEach(async () => {
  database = await openDatabase('sqlite::memory:');
  clock = { now: Date.parse('2026-01-01T00:00:00.000Z') };
  accounts = createAccounts(database, { now: () => clock.now });
  elsewhere = createAccounts(database, { now: () => clock.now });
});
afterEach(async () => database.close());

async function storedText(): Promise<string> {
  const tables = await Promise.all(
    (['api_keys', 'sign_in_tokens', 'browser_sessions'] as const).map((table) =>
      database.kysely.selectFrom(table).selectAll().execute(),
    ),
  );
  return JSON.stringify(tables);
}

describe('API keys', () => {
  it('are 256 random bits, shown once and stored hashed', async () => {
    const { key, id, ...rest } = await accounts.createKey({ name: 'ci' });
    expect(key).toMatch(/^pk_[A-Za-z0-9_-]{43}$/);
    expect(rest).toEqual({ name: 'ci', account: 'local' });
    const stored = await storedText();
    expect(stored).toContain(id);
    expect(stored).not.toContain(key.slice(3));
    expect((await accounts.createKey({ name: 'other' })).key).not.toBe(key);
  });

  it('stand for their account and its limits', async () => {
    const { key, id } = await accounts.createKey({
      name: 'ci',
      account: 'acme',
      requestsPerMinute: 60,
      concurrentRuns: 4,
    });
    expect(await elsewhere.verifyKey(key)).toEqual({ account: 'acme', keyId: id, requestsPerMinute: 60 });
    expect(await accounts.listKeys()).toEqual([
      {
        id,
        name: 'ci',
        account: 'acme',
        requestsPerMinute: 60,
        concurrentRuns: 4,
        createdAt: '2026-01-01T00:00:00.000Z',
        revokedAt: null,
      },
    ]);
  });

  it('that are unknown, cut short or empty stand for nobody', async () => {
    const { key } = await accounts.createKey({ name: 'ci' });
    for (const wrong of ['', 'pk_', key.slice(0, -1), `${key} `, key.toLowerCase(), "' or 1=1 --"]) {
      expect(await accounts.verifyKey(wrong), wrong).toBeUndefined();
    }
  });

  it('work at once, also where they were unknown a moment ago', async () => {
    const { key } = await elsewhere.createKey({ name: 'ci' });
    expect(await accounts.verifyKey(key)).toBeDefined();
  });

  it.each(['name', 'id'] as const)('are revoked by %s: here at once, elsewhere within 5 s', async (by) => {
    const created = await accounts.createKey({ name: 'ci' });
    await accounts.verifyKey(created.key);
    await elsewhere.verifyKey(created.key);
    clock.now += 1_000;
    expect(await accounts.revokeKey(created[by])).toMatchObject({
      id: created.id,
      revokedAt: '2026-01-01T00:00:01.000Z',
    });
    expect(await accounts.verifyKey(created.key)).toBeUndefined();
    clock.now += 4_000;
    expect(await elsewhere.verifyKey(created.key)).toBeUndefined();
    expect(await accounts.listKeys()).toMatchObject([{ revokedAt: '2026-01-01T00:00:01.000Z' }]);
  });

  it('that are not there cannot be revoked', async () => {
    await accounts.createKey({ name: 'ci' });
    expect(await accounts.revokeKey('other')).toBeUndefined();
    expect(await accounts.revokeKey('')).toBeUndefined();
  });

  it('have a name that no other key in force has', async () => {
    await accounts.createKey({ name: 'ci' });
    const again = accounts.createKey({ name: 'ci', account: 'acme' });
    await expect(again).rejects.toMatchObject({ code: 'invalid_parameter', param: 'name' });
    await expect(again).rejects.toThrow(/"ci" already/);
    await accounts.revokeKey('ci');
    const { id } = await accounts.createKey({ name: 'ci' });
    expect(await accounts.revokeKey('ci')).toMatchObject({ id });
  });

  it('cannot be named like the id of a key, be there one or not', async () => {
    const { id } = await accounts.createKey({ name: 'ci' });
    for (const name of [id, 'key_0123456789abcdef', id.toUpperCase()]) {
      const taken = accounts.createKey({ name });
      await expect(taken, name).rejects.toMatchObject({ code: 'invalid_parameter', param: 'name' });
      await expect(taken).rejects.toThrow(/form of a key's id/);
    }
    expect(await accounts.createKey({ name: 'key_ci' })).toMatchObject({ name: 'key_ci' });
  });

  it('are revoked one at a time: an id means that key alone, though an older one is named so', async () => {
    const [first, second] = [await accounts.createKey({ name: 'ci' }), await accounts.createKey({ name: 'other' })];
    await database.kysely.updateTable('api_keys').set({ name: first.id }).where('id', '=', second.id).execute();
    expect(await accounts.revokeKey(first.id)).toMatchObject({ id: first.id });
    expect(await accounts.verifyKey(first.key)).toBeUndefined();
    expect(await accounts.verifyKey(second.key)).toMatchObject({ keyId: second.id });
    expect(await accounts.revokeKey(first.id)).toBeUndefined();
    expect(await accounts.verifyKey(second.key)).toMatchObject({ keyId: second.id });
    expect(await accounts.revokeKey(second.id)).toMatchObject({ id: second.id, name: first.id });
  });

  it('are refused with a bad name, account or limit, by name', async () => {
    for (const name of ['', ' ', 'a\nb', '\u001b[31m', 'x'.repeat(101)]) {
      await expect(accounts.createKey({ name }), name).rejects.toMatchObject({ param: 'name' });
      await expect(accounts.createKey({ name: 'ci', account: name })).rejects.toMatchObject({ param: 'account' });
    }
    for (const limit of [0, -1, 1.5, Number.NaN]) {
      await expect(accounts.createKey({ name: 'ci', requestsPerMinute: limit })).rejects.toMatchObject({
        code: 'invalid_parameter',
        param: 'requests_per_minute',
      });
      await expect(accounts.createKey({ name: 'ci', concurrentRuns: limit })).rejects.toMatchObject({
        param: 'concurrent_runs',
      });
    }
    expect(await accounts.listKeys()).toEqual([]);
  });

  it('are there while one is in force that is not left out', async () => {
    expect(await accounts.hasKeys()).toBe(false);
    await accounts.createKey({ name: 'local' });
    expect(await accounts.hasKeys()).toBe(true);
    expect(await accounts.hasKeys({ except: ['local'] })).toBe(false);
    await accounts.createKey({ name: 'ci' });
    expect(await accounts.hasKeys({ except: ['local'] })).toBe(true);
    await accounts.revokeKey('ci');
    expect(await accounts.hasKeys({ except: ['local'] })).toBe(false);
  });
});

describe('sign-in', () => {
  it('spends a token once, for a browser session of its account', async () => {
    const token = await accounts.createSignInToken('acme');
    const session = await elsewhere.redeemSignInToken(token);
    expect(session).toMatchObject({ account: 'acme', expiresAt: new Date(clock.now + 30 * DAY_MS) });
    expect(await accounts.verifyBrowserSession(session?.session ?? '')).toEqual({ account: 'acme' });
    expect(await accounts.redeemSignInToken(token)).toBeUndefined();
  });

  it('spends a token once when two browsers come at the same time', async () => {
    const token = await accounts.createSignInToken('local');
    const sessions = await Promise.all([1, 2, 3].map(() => accounts.redeemSignInToken(token)));
    expect(sessions.filter((session) => session !== undefined)).toHaveLength(1);
  });

  it('takes a token for 15 minutes', async () => {
    const [young, old] = [await accounts.createSignInToken('local'), await accounts.createSignInToken('local')];
    clock.now += 15 * MINUTE_MS - 1;
    expect(await accounts.redeemSignInToken(young)).toBeDefined();
    clock.now += 1;
    expect(await accounts.redeemSignInToken(old)).toBeUndefined();
    expect(await accounts.redeemSignInToken('unknown')).toBeUndefined();
  });

  it('keeps a browser session for 30 days', async () => {
    const { session } = await accounts.createBrowserSession('local');
    clock.now += 30 * DAY_MS - 1;
    expect(await accounts.verifyBrowserSession(session)).toEqual({ account: 'local' });
    clock.now += 1;
    expect(await accounts.verifyBrowserSession(session)).toBeUndefined();
    expect(await accounts.verifyBrowserSession('')).toBeUndefined();
  });

  it('stores tokens and sessions hashed, and forgets those that are over', async () => {
    const token = await accounts.createSignInToken('local');
    const { session } = await accounts.createBrowserSession('local');
    const stored = await storedText();
    expect(stored).not.toContain(token);
    expect(stored).not.toContain(session);
    clock.now += 31 * DAY_MS;
    await accounts.createSignInToken('local');
    await accounts.createBrowserSession('local');
    expect(JSON.parse(await storedText())).toMatchObject([[], { length: 1 }, { length: 1 }]);
  });
});

describe('the token of changes from pages', () => {
  it('belongs to its session alone', async () => {
    const { session } = await accounts.createBrowserSession('local');
    const token = csrfToken(session);
    expect(isCsrfToken(session, token)).toBe(true);
    expect(token).not.toContain(session);
    for (const wrong of ['', token.slice(1), `${token}x`, csrfToken(`${session}x`), session]) {
      expect(isCsrfToken(session, wrong)).toBe(false);
    }
  });
});
