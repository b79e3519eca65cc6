import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { ToolError } from 'proctor';
import { type LaunchedChromium, launchChromium } from './launch.ts';
import { parseOwnAddress } from './own-origin-server.ts';
import type { Viewport } from './viewport.ts';

/** Milliseconds that one action may take, with the page that it leads to. */
const ACTION_LIMIT_MS = 15_000;
const ELEMENT_LIMIT_MS = 5_000;

export interface BrowserOptions {
  /** The one site, such as `http://127.0.0.1:40123`, which is the browser's proxy too (`OwnOriginServer`). */
  readonly origin: string;
  readonly viewport: Viewport;
  /** 15,000 by default. */
  readonly actionLimitMs?: number;
}

interface OpenContext {
  readonly context: BrowserContext;
  readonly page: Page;
}

/** What an action works with: all of it is aborted when the call is, or when its time is over. */
export interface Action {
  readonly page: Page;
  readonly signal: AbortSignal;
  /** Milliseconds within which something on the page has to become ready to be acted on. */
  readonly timeout: number;
}

/**
 * A real Chromium with one page, which shows one site and nothing else. Actions run one after another; each ends when
 * the page that it led to has loaded. Whoever opened it closes it.
 *
 * The walls, from the outside in: Chromium has no way out but a proxy that answers for the site alone (`launchChromium`);
 * requests for other addresses are stopped before they are made; `goto` takes addresses of the site only; new windows
 * are closed, downloads and service workers refused; and an action that ends elsewhere all the same is taken back.
 */
export class ConfinedBrowser {
  readonly origin: string;
  readonly viewport: Viewport;
  readonly #chromium: LaunchedChromium;
  readonly #actionLimitMs: number;
  #context: BrowserContext;
  #page: Page;
  /** Of the page itself, under way. */
  #navigations = new Set<Request>();
  #hasCrashed = false;
  /** Settles when the last action has. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(chromium: LaunchedChromium, options: BrowserOptions, { context, page }: OpenContext) {
    this.#chromium = chromium;
    this.origin = options.origin;
    this.viewport = options.viewport;
    this.#actionLimitMs = options.actionLimitMs ?? ACTION_LIMIT_MS;
    this.#context = context;
    this.#page = page;
    this.#watch(page);
  }

  /** Launches Chromium with the site's first page. @throws Error where that fails; nothing is left then. */
  static async launch(options: BrowserOptions): Promise<ConfinedBrowser> {
    const chromium = await launchChromium(options.origin);
    try {
      return new ConfinedBrowser(chromium, options, await openContext(chromium.browser, options));
    } catch (error) {
      await chromium.close();
      throw error;
    }
  }

  /** `/products?q=mug`: where the page is, within the site. */
  get path(): string {
    return this.#page.url().slice(this.origin.length);
  }

  /** Opens the site's first page with neither history nor cookies. */
  async restart(signal: AbortSignal): Promise<void> {
    await this.act(signal, () => this.#renew());
  }

  /** Opens an address of the site, whole or as a path. @throws ToolError for every other. */
  async goto(address: string, signal: AbortSignal): Promise<void> {
    const url = parseOwnAddress(address.trim(), this.origin);
    if (url === undefined) {
      throw new ToolError(
        `"${address}" is refused: this browser opens pages of ${this.origin} alone. Give a path such as /products`,
      );
    }
    await this.act(signal, (action) => action.page.goto(url.href, { signal: action.signal, timeout: 0 }));
  }

  /**
   * Runs one action after those before it, waits for what it loads, and sees to it that it ends in the site.
   *
   * @throws ToolError when it fails or takes too long; the signal's reason when that is aborted.
   */
  async act<T>(signal: AbortSignal, work: (action: Action) => Promise<T>): Promise<T> {
    const before = this.#last;
    const run = (async () => {
      await before.catch(() => {});
      signal.throwIfAborted();
      return this.#run(signal, work);
    })();
    this.#last = run;
    return untilAborted(run, signal);
  }

  /** Ends Chromium and removes what it wrote. Never rejects. */
  async close(): Promise<void> {
    await this.#chromium.close();
  }

  async #run<T>(callSignal: AbortSignal, work: (action: Action) => Promise<T>): Promise<T> {
    if (!this.#chromium.browser.isConnected()) throw new ToolError('The browser has ended: this session cannot go on');
    // The page may have gone elsewhere by itself since the last action, or have ended.
    await this.#comeBack().catch(() => {});
    const limit = AbortSignal.timeout(this.#actionLimitMs);
    const signal = AbortSignal.any([callSignal, limit]);
    try {
      const page = this.#page;
      const result = await untilAborted(work({ page, signal, timeout: ELEMENT_LIMIT_MS }), signal);
      await untilAborted(this.#settle(), signal);
      await this.#comeBack();
      return result;
    } catch (error) {
      if (signal.aborted) await this.#stopLoading();
      await this.#comeBack().catch(() => {});
      if (callSignal.aborted) throw callSignal.reason;
      if (limit.aborted) throw new ToolError(`The page did not answer within ${this.#actionLimitMs / 1_000} s`);
      throw error instanceof ToolError ? error : new ToolError(describe(error));
    }
  }

  /** Resolves when no navigation of the page is under way. */
  async #settle(): Promise<void> {
    const page = this.#page;
    do {
      // A turn of the page's own loop, by which a form that was sent has begun to navigate.
      await page.evaluate('new Promise((done) => setTimeout(done, 20))').catch(() => {});
      await page.waitForLoadState('load').catch(() => {});
    } while (this.#navigations.size > 0 && !page.isClosed());
  }

  /** Gives up what is still being loaded, so that the next action does not wait for it. */
  async #stopLoading(): Promise<void> {
    const devtools = await this.#context.newCDPSession(this.#page).catch(() => undefined);
    await devtools?.send('Page.stopLoading').catch(() => {});
    await devtools?.detach().catch(() => {});
    this.#navigations.clear();
  }

  /** A redirect may have led away: what was shown there is our own refusal, and no place to stay. */
  async #comeBack(): Promise<void> {
    const url = this.#page.url();
    if (parseOwnAddress(url, this.origin) !== undefined && !this.#page.isClosed() && !this.#hasCrashed) return;
    await this.#renew();
    if (url === 'about:blank' || url.startsWith(this.origin)) return;
    throw new ToolError(`That led out of this site (${url.slice(0, 100)}) and was refused. The page is / now`);
  }

  async #renew(): Promise<void> {
    const old = this.#context;
    const { context, page } = await openContext(this.#chromium.browser, this);
    this.#context = context;
    this.#page = page;
    this.#navigations = new Set();
    this.#hasCrashed = false;
    this.#watch(page);
    await old.close().catch(() => {});
  }

  #watch(page: Page): void {
    const navigations = this.#navigations;
    const forget = (request: Request) => navigations.delete(request);
    page.on('request', (request) => {
      if (request.isNavigationRequest() && request.frame() === page.mainFrame()) navigations.add(request);
    });
    page.on('requestfinished', forget);
    page.on('requestfailed', forget);
    page.on('crash', () => {
      this.#hasCrashed = true;
    });
  }
}

async function openContext(browser: Browser, { origin, viewport }: BrowserOptions): Promise<OpenContext> {
  const context = await browser.newContext({
    viewport: { ...viewport },
    acceptDownloads: false,
    serviceWorkers: 'block',
    locale: 'en-GB',
    timezoneId: 'UTC',
  });
  await context.route('**', (route) => {
    const isOwn = parseOwnAddress(route.request().url(), origin) !== undefined;
    // Aborted, the page stays where it is; blocked, it would become an error page.
    return (isOwn ? route.continue() : route.abort('aborted')).catch(() => {});
  });
  const page = await context.newPage();
  context.on('page', (another) => void another.close().catch(() => {}));
  await page.goto(`${origin}/`, { timeout: ACTION_LIMIT_MS });
  return { context, page };
}

/** The promise, or the signal's reason as soon as it is aborted. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    promise.catch(() => {});
  }
}

/** The first line of what went wrong, without the address of the site and without escape codes. */
function describe(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const line = (text.split('\n')[0] ?? '').replace(/^(page|locator|keyboard|mouse)\.\w+: /, '');
  if (/^Timeout /.test(line)) return 'That could not be done: it is not on the page, or something covers it';
  if (line.includes('Download is starting')) return 'That is a download, and downloads are refused';
  if (line.includes('ERR_ABORTED')) return 'That was refused: it is no page of this site';
  return `That could not be done: ${line}`;
}
