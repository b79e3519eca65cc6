import { type EnvironmentServer, type ImageContent, image, ToolError } from 'proctor';
import { z } from 'zod';
import type { ConfinedBrowser } from './chromium/confined-browser.ts';
import { findTarget } from './chromium/targets.ts';

/** Characters of a page that `read_page` gives. */
const MAX_PAGE_LENGTH = 20_000;

const KEYS = [
  'Enter',
  'Tab',
  'Shift+Tab',
  'Escape',
  'Space',
  'Backspace',
  'Delete',
  'ArrowUp',
  'ArrowDown',
  'ArrowLeft',
  'ArrowRight',
  'PageUp',
  'PageDown',
  'Home',
  'End',
  'Control+A',
] as const;

const Target = z
  .string()
  .min(1)
  .max(200)
  .describe('A reference from read_page such as e12, or the text or label that it shows.');
const WithScreenshot = z.boolean().default(false).describe('Whether the answer has a picture of the page too.');
const Pixel = z.int().min(0);

const ANNOTATIONS = { openWorldHint: false };
const READS = { readOnlyHint: true, openWorldHint: false };

type Answer = string | (ImageContent | { readonly type: 'text'; readonly text: string })[];

/**
 * Registers what an agent acts with: a page that it can see (`screenshot`, and points of it) or read (`read_page`, and
 * the references in it), whichever suits the model.
 *
 * @param browser the one of the session.
 */
export function addBrowserTools(environment: EnvironmentServer, browser: () => ConfinedBrowser): void {
  const answer = async (text: string, withScreenshot: boolean, signal: AbortSignal): Promise<Answer> => {
    const place = `${text} The page is ${await describePlace(browser(), signal)}.`;
    return withScreenshot ? [{ type: 'text', text: place }, await takeScreenshot(browser(), signal)] : place;
  };

  environment.tool(
    'screenshot',
    { description: 'A picture of what the browser shows, in its real pixels.', annotations: READS },
    (_args, { signal }) => takeScreenshot(browser(), signal),
  );

  environment.tool(
    'read_page',
    {
      description:
        'The whole page as text, as a screen reader would tell it. What can be clicked or filled in has a reference, such as [ref=e12], which holds until the page changes.',
      annotations: READS,
    },
    async (_args, { signal }) => readPage(browser(), signal),
  );

  environment.tool(
    'goto',
    {
      description: 'Opens a page of the shop. Other addresses are refused.',
      args: { address: z.string().min(1).max(2_000).describe('A path such as /products.'), screenshot: WithScreenshot },
      annotations: ANNOTATIONS,
    },
    async ({ address, screenshot }, { signal }) => {
      await browser().goto(address, signal);
      return answer('Opened.', screenshot, signal);
    },
  );

  environment.tool(
    'click',
    {
      description: 'Clicks something, by reference or text, or a point of the screenshot.',
      args: {
        target: Target.optional(),
        x: Pixel.optional().describe('Pixels from the left; with y, in place of target.'),
        y: Pixel.optional().describe('Pixels from the top.'),
        screenshot: WithScreenshot,
      },
      annotations: ANNOTATIONS,
    },
    async ({ target, x, y, screenshot }, { signal }) => {
      const hasPoint = x !== undefined && y !== undefined;
      if (target !== undefined && x === undefined && y === undefined) await clickTarget(browser(), target, signal);
      else if (target === undefined && hasPoint) await clickPoint(browser(), x, y, signal);
      else throw new ToolError('click takes either target, or x and y');
      return answer(target === undefined ? `Clicked at ${x}, ${y}.` : `Clicked "${target}".`, screenshot, signal);
    },
  );

  environment.tool(
    'type_text',
    {
      description: 'Writes into a field: with target in place of what is there, without it where the cursor is.',
      args: {
        text: z.string().max(2_000).describe('What to write.'),
        target: Target.optional(),
        submit: z.boolean().default(false).describe('Whether to press Enter afterwards.'),
        screenshot: WithScreenshot,
      },
      annotations: ANNOTATIONS,
    },
    async ({ text, target, submit, screenshot }, { signal }) => {
      await browser().act(signal, async ({ page, ...limits }) => {
        if (target === undefined) await page.keyboard.insertText(text);
        else await (await findTarget(page, target, 'field')).fill(text, limits);
        if (submit) await page.keyboard.press('Enter');
      });
      return answer(target === undefined ? 'Typed.' : `Typed into "${target}".`, screenshot, signal);
    },
  );

  environment.tool(
    'press_key',
    {
      description: 'Presses one key.',
      args: { key: z.enum(KEYS).describe('Which one.'), screenshot: WithScreenshot },
      annotations: ANNOTATIONS,
    },
    async ({ key, screenshot }, { signal }) => {
      await browser().act(signal, ({ page }) => page.keyboard.press(key));
      return answer(`Pressed ${key}.`, screenshot, signal);
    },
  );

  environment.tool(
    'scroll',
    {
      description: 'Scrolls the page and says where it is then.',
      args: {
        direction: z.enum(['up', 'down']).default('down').describe('Which way.'),
        pixels: z.int().min(1).max(20_000).default(700).describe('How far.'),
        screenshot: WithScreenshot,
      },
      annotations: ANNOTATIONS,
    },
    async ({ direction, pixels, screenshot }, { signal }) => {
      const by = direction === 'up' ? -pixels : pixels;
      const [at, end] = await browser().act(signal, ({ page }) =>
        page.evaluate<readonly number[]>(
          `scrollBy({ top: ${by}, behavior: 'instant' }); [scrollY, document.documentElement.scrollHeight - innerHeight]`,
        ),
      );
      const place = `Scrolled to ${Math.round(at ?? 0)} of ${end} pixels.`;
      return answer(place, screenshot, signal);
    },
  );

  environment.tool(
    'back',
    { description: 'Goes back to the page before.', args: { screenshot: WithScreenshot }, annotations: ANNOTATIONS },
    async ({ screenshot }, { signal }) => {
      const reply = await browser().act(signal, ({ page, ...limits }) => page.goBack(limits));
      return answer(reply === null ? 'There is no page before this one.' : 'Went back.', screenshot, signal);
    },
  );
}

function takeScreenshot(browser: ConfinedBrowser, signal: AbortSignal): Promise<ImageContent> {
  return browser.act(signal, async ({ page, timeout }) => image(await page.screenshot({ timeout }), 'image/png'));
}

async function readPage(browser: ConfinedBrowser, signal: AbortSignal): Promise<string> {
  const [title, outline] = await browser.act(signal, async ({ page, ...limits }) => [
    await page.title(),
    await page.ariaSnapshot({ ...limits, mode: 'ai' }),
  ]);
  const text = `${browser.path}: ${title}\n\n${shorten(outline)}`;
  if (text.length <= MAX_PAGE_LENGTH) return text;
  return `${text.slice(0, MAX_PAGE_LENGTH)}\n… ${text.length - MAX_PAGE_LENGTH} more characters`;
}

/** Leaves the references of what can be acted on, and drops those of paragraphs and boxes. */
function shorten(outline: string): string {
  return outline
    .split('\n')
    .map((line) => line.replace(/ \[(?:cursor=pointer|aria-hidden)\]/g, ''))
    .map((line) => (ACTIONABLE.test(line) ? line : line.replace(/ \[ref=\w+\]/, '')))
    .join('\n');
}

const ACTIONABLE = /^\s*- (?:link|button|textbox|searchbox|spinbutton|radio|checkbox|combobox)\b/;

async function describePlace(browser: ConfinedBrowser, signal: AbortSignal): Promise<string> {
  const title = await browser.act(signal, async ({ page, timeout }) => {
    // A page that has just been opened may not have read its own title yet.
    await page.waitForLoadState('domcontentloaded', { timeout });
    return await page.title();
  });
  return `${browser.path} ("${title}")`;
}

async function clickTarget(browser: ConfinedBrowser, target: string, signal: AbortSignal): Promise<void> {
  await browser.act(signal, async ({ page, ...limits }) => (await findTarget(page, target, 'any')).click(limits));
}

async function clickPoint(browser: ConfinedBrowser, x: number, y: number, signal: AbortSignal): Promise<void> {
  const { width, height } = browser.viewport;
  if (x >= width || y >= height) {
    throw new ToolError(`The point ${x}, ${y} is outside of the screenshot, which is ${width} by ${height}`);
  }
  await browser.act(signal, ({ page }) => page.mouse.click(x, y));
}
