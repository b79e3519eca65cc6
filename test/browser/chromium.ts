import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, type ConsoleMessage, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';

const PATHS = [
  process.env.PROCTOR_CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** Where Chromium is. Says so where it is not, because the tests of this file are skipped then. */
export function findChromium(file: string): string | undefined {
  const executablePath = PATHS.find((path) => path !== undefined && existsSync(path));
  if (executablePath === undefined) console.log(`${file} is skipped: no Chromium (set PROCTOR_CHROMIUM)`);
  return executablePath;
}

/** Milliseconds that a page has for one thing: less than a test has, so that a test that fails names what was missing. */
const PAGE_MS = 80_000;

/** A page, what went wrong in it, and the hosts that it has asked. Whoever opened it closes it. */
export interface OpenPage {
  readonly page: Page;
  readonly problems: readonly string[];
  readonly hosts: ReadonlySet<string>;
}

/** Opens pages in a browser that runs as long as the tests of a `describe`; `isProblem` judges what a page writes to its console. */
export function useChromium(executablePath: string | undefined, isProblem: (message: ConsoleMessage) => boolean) {
  let browser: Browser;
  beforeAll(async () => {
    const args = ['--no-sandbox', '--disable-quic', '--disable-background-networking'];
    browser = await chromium.launch({ executablePath: String(executablePath), args });
  });
  afterAll(() => browser?.close());

  return async (address: string, options: BrowserContextOptions = {}): Promise<OpenPage> => {
    const page = await browser.newPage(options);
    page.setDefaultTimeout(PAGE_MS);
    const problems: string[] = [];
    const hosts = new Set<string>();
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => isProblem(message) && problems.push(message.text()));
    page.on('request', (request) => hosts.add(new URL(request.url()).host));
    await page.goto(address);
    return { page, problems, hosts };
  };
}
