import { expect, it, onTestFinished } from 'vitest';
import { hasSameDatabase } from '../../../src/cli/base/signed-in-address.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { listen } from '../../../src/support/http/listen.ts';
import { createPages } from '../../../src/web/pages.ts';
import { openParts, startService } from '../../service/runs/service.ts';

const rowsOf = async ({ kysely }: Database) => ({
  tokens: await kysely.selectFrom('sign_in_tokens').selectAll().execute(),
  sessions: await kysely.selectFrom('browser_sessions').selectAll().execute(),
});
const NOTHING = { tokens: [], sessions: [] };

it('a server is asked whether it has this database, and no token or browser session is left of that', async () => {
  const parts = await openParts();
  const same = await startService({ parts, pages: createPages(parts) });
  expect(await hasSameDatabase(parts, same.url)).toBe(true);
  expect(await rowsOf(parts.database)).toEqual(NOTHING);

  const own = await openParts();
  expect(await hasSameDatabase(own, same.url)).toBe(false);
  expect([await rowsOf(own.database), await rowsOf(parts.database)]).toEqual([NOTHING, NOTHING]);
});

it('the token of the question signs nobody in afterwards', async () => {
  const parts = await openParts();
  const asked: string[] = [];
  const silent = await listen(
    (request, response) => {
      asked.push(request.url ?? '');
      response.destroy();
    },
    { host: '127.0.0.1', port: 0 },
  );
  onTestFinished(() => silent.close());
  expect(await hasSameDatabase(parts, silent.url)).toBe(true);
  const token = new URL(asked[0] ?? '', silent.url).searchParams.get('token') ?? '';
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(await parts.accounts.redeemSignInToken(token)).toBeUndefined();
  expect(await rowsOf(parts.database)).toEqual(NOTHING);
});
