import { EnvironmentServer, type InitializeContext, type ScenarioGenerator, serveMain } from 'proctor';
import { ConfinedBrowser } from './chromium/confined-browser.ts';
import { OwnOriginServer } from './chromium/own-origin-server.ts';
import { toViewport } from './chromium/viewport.ts';
import { Shop } from './shop/shop.ts';
import { createSite } from './shop/site.ts';
import { Buy, type BuyArgs, buyPrompt, judgeBuy, solveBuy } from './tasks/buy.ts';
import { BUY_TASKS, FIND_TASKS } from './tasks/declared.ts';
import {
  Find,
  FindAnswer,
  type FindAnswerValue,
  type FindArgs,
  findPrompt,
  judgeFind,
  solveFind,
} from './tasks/find.ts';
import { addBrowserTools } from './tools.ts';

/**
 * A small shop, driven in a real Chromium that can reach nothing but the shop. Each session has a shop, a server and a
 * browser of its own.
 */
export default class BrowserEnvironment extends EnvironmentServer {
  #shop = new Shop(1);
  #server: OwnOriginServer | undefined;
  #browser: ConfinedBrowser | undefined;
  #isClosed = false;

  constructor() {
    super({
      name: 'browser',
      version: '1.0.0',
      instructions: 'A browser that shows a shop. Look with screenshot or read_page, act with the other tools.',
    });
    this.initialize((context) => this.#open(context));
    this.close(() => this.#close());
    addBrowserTools(this, () => this.#openBrowser());
    this.scenario(
      'buy',
      {
        description: 'Order a product in the shop, as it was asked for.',
        args: Buy,
        tasks: BUY_TASKS,
        solution: (args) => solveBuy(args, new Shop(args.seed)),
      },
      (args, { signal }) => this.#buy(args, signal),
    );
    this.scenario(
      'find',
      {
        description: 'Find the cheapest product of a category that is in stock and well rated.',
        args: Find,
        tasks: FIND_TASKS,
        answer: FindAnswer,
        solution: solveFind,
      },
      (args, { signal }) => this.#find(args, signal),
    );
  }

  async *#buy(args: BuyArgs, signal: AbortSignal): ScenarioGenerator {
    const shop = await this.#openShop(args.seed, signal);
    yield buyPrompt(args, shop);
    return judgeBuy(args, shop);
  }

  async *#find(args: FindArgs, signal: AbortSignal): ScenarioGenerator<FindAnswerValue> {
    const shop = await this.#openShop(args.seed, signal);
    const answer = yield findPrompt(args);
    return judgeFind(args, shop, answer);
  }

  /** A new shop, and a browser at its first page that remembers nothing. */
  async #openShop(seed: number, signal: AbortSignal): Promise<Shop> {
    this.#shop = new Shop(seed);
    await this.#openBrowser().restart(signal);
    return this.#shop;
  }

  async #open({ meta, progress, signal }: InitializeContext): Promise<void> {
    const viewport = toViewport(meta.display_width, meta.display_height);
    try {
      progress(5, 100, 'opening the shop');
      this.#server = await OwnOriginServer.start(createSite(() => this.#shop));
      progress(20, 100, 'launching Chromium');
      this.#browser = await ConfinedBrowser.launch({ origin: this.#server.origin, viewport });
      // The session may have ended meanwhile, and its close hook with it.
      signal.throwIfAborted();
      if (this.#isClosed) throw new Error('The session was closed while Chromium was being launched');
      progress(100, 100, `the shop is open, ${viewport.width} by ${viewport.height}`);
    } catch (error) {
      await this.#release();
      throw error;
    }
  }

  #openBrowser(): ConfinedBrowser {
    if (this.#browser === undefined) throw new Error('The browser is not open');
    return this.#browser;
  }

  async #close(): Promise<void> {
    this.#isClosed = true;
    await this.#release();
  }

  async #release(): Promise<void> {
    const [browser, server] = [this.#browser, this.#server];
    this.#browser = undefined;
    this.#server = undefined;
    await browser?.close();
    await server?.close();
  }
}

serveMain(import.meta, BrowserEnvironment);
