import type { Page } from 'playwright-core';
import { createAccounts } from '../../src/store/accounts/database-accounts.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { json, type Play } from '../gateway.ts';
import { serve, type TestServerOptions } from '../service/chat/server.ts';

/** A browser and two servers, on a machine that has other things to do. */
export const PATIENCE = { timeout: 90_000 } as const;

/** The page asks for the models before anything else; the answer is kept for a minute. */
const listsOne: Play = json(200, { object: 'list', data: [{ id: 'test-model' }] });

/** A scenario server with its pages, trace pages among them, at one address; `address` signs a browser in. */
export async function openPlayground(...plays: readonly Play[]) {
  return await openPlaygroundOf({}, ...plays);
}

/** The same, with options of the server. */
export async function openPlaygroundOf(options: TestServerOptions, ...plays: readonly Play[]) {
  const database = await openDatabase('sqlite::memory:');
  const accounts = createAccounts(database);
  const server = await serve({ ...options, database, accounts, appUrl: undefined, plays: [listsOne, ...plays] });
  const address = `${server.url}/?token=${await accounts.createSignInToken('local')}`;
  return { ...server, accounts, address };
}

/** Starts a session from the form, whose fields are filled in by these texts. */
export async function choose(page: Page, scenario: string, args: Readonly<Record<string, string>>): Promise<void> {
  await page.locator('#scenario').selectOption({ label: scenario });
  for (const [name, value] of Object.entries(args)) await page.locator(`#argument-${name}`).fill(value);
  await page.getByRole('button', { name: 'Start', exact: true }).click();
}

export const turnIsOver = (page: Page) => page.getByText('Your turn:').waitFor();
