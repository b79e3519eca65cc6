// Photographs the pages that the guides show: a store of made-up runs, the servers as they are, and Chromium.
//
//   npm run screenshots [-- <name of a page>…]
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium } from 'playwright-core';
import { NOW } from './screenshots/made-up-runs.ts';
import { PAGES, type ShownPage } from './screenshots/pages.ts';
import { countDifferences, repack } from './screenshots/picture.ts';
import { type ShownServers, startServers } from './screenshots/servers.ts';

const IMAGES = process.env.SCREENSHOTS_DIRECTORY ?? fileURLToPath(new URL('../docs/images', import.meta.url));
/** Pixels of a picture that may differ without it being another one. */
const UNSEEN_PIXELS = 60;
const LOOKS = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
  { name: 'light-phone', colorScheme: 'light', viewport: { width: 390, height: 844 } },
  { name: 'dark-phone', colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const;

process.exitCode = await main(process.argv.slice(2));

async function main(names: readonly string[]): Promise<number> {
  const unknown = names.filter((name) => !PAGES.some((page) => page.name === name));
  if (unknown.length > 0) {
    console.error(`No page is named ${unknown.join(', ')}. Pages: ${PAGES.map(({ name }) => name).join(', ')}`);
    return 2;
  }
  const places = [
    process.env.PROCTOR_CHROMIUM,
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ];
  const executablePath = places.find((path) => path !== undefined && existsSync(path));
  if (executablePath === undefined) {
    console.error('There is no Chromium. Say where it is in PROCTOR_CHROMIUM.');
    return 1;
  }
  mkdirSync(IMAGES, { recursive: true });
  const directory = mkdtempSync(join(tmpdir(), 'proctor-screenshots-'));
  try {
    await using servers = await startServers(directory);
    await using browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--force-color-profile=srgb'],
    });
    for (const page of PAGES.filter(({ name }) => names.length === 0 || names.includes(name))) {
      for (const look of LOOKS) await photograph(browser, servers, page, look);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  return 0;
}

async function photograph(
  browser: Browser,
  servers: ShownServers,
  shown: ShownPage,
  { name, ...look }: (typeof LOOKS)[number],
): Promise<void> {
  const { url, accounts } = shown.server === 'scenarios' ? servers.scenarios : servers.service;
  const address = new URL(shown.path(servers.runs), url);
  if (!shown.isSignedOut) address.searchParams.set('token', await accounts.createSignInToken('local'));
  const page = await browser.newPage({ ...look, reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC' });
  await page.clock.setFixedTime(NOW);
  await page.goto(address.href);
  await page.locator(shown.ready).first().waitFor();
  await shown.prepare?.(page);
  // A picture shows no page that still reads.
  await page.waitForFunction(() => document.querySelector('.spinner') === null);
  await page.evaluate('document.fonts.ready');
  await page.mouse.move(0, 0);
  const path = join(IMAGES, `${shown.name}-${name}.png`);
  const picture = repack(await page.screenshot({ animations: 'disabled' }));
  const differences = existsSync(path) ? countDifferences(readFileSync(path), picture) : undefined;
  // The edges of letters are not drawn alike each time.
  const isNew = differences === undefined || differences > UNSEEN_PIXELS;
  if (isNew) writeFileSync(path, picture);
  await page.close();
  console.log(`${path}${isNew ? '' : ' (as it was)'}`);
}
