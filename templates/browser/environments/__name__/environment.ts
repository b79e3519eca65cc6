import type { Browser, Page } from 'playwright-core';
import { EnvironmentServer, image, serveMain, ToolError } from 'proctor';
import { z } from 'zod';
import { launchChromium } from './chromium.ts';
import { SEATS, Theatre } from './theatre.ts';

/** How long a click may look for what it is to click on. */
const ACTION_TIMEOUT_MS = 2_000;

/** Called once for each session. Nothing happens here yet: the browser is started by the initialize hook. */
export default function environment() {
  const theatre = new Theatre();
  let browser: Browser | undefined;
  let page: Page | undefined;
  const env = new EnvironmentServer({ name: '__name__', version: '0.1.0' });

  env.initialize(async ({ meta, progress }) => {
    progress(0, 100, 'Starting Chromium');
    browser = await launchChromium();
    await theatre.open();
    const context = await browser.newContext({
      viewport: { width: meta.display_width, height: meta.display_height },
    });
    // The page of this session and nothing else.
    await context.route('**/*', (route) =>
      new URL(route.request().url()).origin === theatre.address ? route.continue() : route.abort(),
    );
    page = await context.newPage();
    page.setDefaultTimeout(ACTION_TIMEOUT_MS);
    progress(100, 100, 'The browser is ready');
  });
  env.close(async () => {
    await browser?.close();
    theatre.close();
  });

  /** What happens on the page; a failure is told to the agent in one line. */
  async function act(action: (page: Page) => Promise<unknown>): Promise<string> {
    if (page === undefined) throw new Error('The browser was not started');
    try {
      await action(page);
    } catch (cause) {
      throw new ToolError(`That did not work: ${String(cause).split('\n')[0]}`, { cause });
    }
    return page.locator('body').ariaSnapshot();
  }

  env.tool('look', { description: 'Describes the page in text.', annotations: { readOnlyHint: true } }, () =>
    act(async () => {}),
  );

  env.tool(
    'screenshot',
    { description: 'Shows the page as an image.', annotations: { readOnlyHint: true } },
    async () => {
      let bytes = new Uint8Array();
      await act(async (shown) => {
        bytes = Uint8Array.from(await shown.screenshot());
      });
      return image(bytes, 'image/png');
    },
  );

  env.tool(
    'fill',
    {
      description: 'Types into a field and describes the page then.',
      args: { label: z.string().describe('The words beside it.'), text: z.string().describe('What to type.') },
    },
    ({ label, text }) => act((shown) => shown.getByLabel(label, { exact: true }).fill(text)),
  );

  env.tool(
    'click',
    {
      description: 'Clicks on a button or a choice and describes the page then.',
      args: { name: z.string().describe('The words on it.') },
    },
    ({ name }) =>
      act(async (shown) => {
        const button = shown.getByRole('button', { name, exact: true });
        await button.or(shown.getByRole('radio', { name, exact: true })).click();
      }),
  );

  env.scenario(
    'reserve',
    {
      description: 'Reserve one seat of a theatre on its page.',
      args: { seat: z.enum(SEATS).default('B2'), name: z.string().min(1).default('Ada') },
      // What an evaluation plays: npx proctor eval __name__. Agents cannot see it.
      tasks: [
        { id: 'usual', split: 'train' },
        { id: 'first-seat', args: { seat: 'A1' }, split: 'train', tags: ['edge'] },
        { id: 'long-name', args: { seat: 'B3', name: 'Ada, Countess of Lovelace' }, split: 'test', tags: ['name'] },
      ],
      solution: ({ seat, name }) => ({
        calls: [
          { name: 'fill', arguments: { label: 'Name', text: name } },
          { name: 'click', arguments: { name: seat } },
          { name: 'click', arguments: { name: 'Reserve' } },
        ],
        answer: `Seat ${seat} is reserved.`,
      }),
    },
    async function* ({ seat, name }) {
      theatre.reservations = [{ seat: SEATS.find((each) => each !== seat) ?? 'A1', name: 'Grace' }];
      await act((shown) => shown.goto(theatre.address));
      yield `The browser shows the page of a theatre. Reserve the seat ${seat} for ${name}, and no other seat.`;
      const made = theatre.reservations.slice(1);
      const isRight = made.length === 1 && made[0]?.seat === seat && made[0].name === name;
      return { reward: isRight ? 1 : 0, info: { reservations: made.map((each) => `${each.seat} ${each.name}`) } };
    },
  );

  return env;
}

serveMain(import.meta, environment);
