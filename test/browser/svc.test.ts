import type { Page } from 'playwright-core';
import { EnvironmentServer, image, ToolError } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { serveHttp, until } from '../mcp/clients.ts';
import { findChromium, useChromium } from './chromium.ts';

const executablePath = findChromium('test/browser/svc.test.ts');

/** One pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

function createShown(events: string[] = []) {
  let count = 0;
  return () =>
    new EnvironmentServer({ name: 'shown' })
      .tool(
        'add',
        { args: { by: z.int(), note: z.string().optional(), mode: z.enum(['plain', 'loud']).default('plain') } },
        (args) => {
          count += args.by;
          return { count, ...args };
        },
      )
      .tool('picture', {}, () => image(PIXEL, 'image/png'))
      .tool('markup', {}, () => '<img src=x onerror="document.title=1"><b>bold</b>')
      .tool('refuse', {}, () => {
        throw new ToolError('Not on Sundays');
      })
      .tool('wait', {}, async (_args, { signal, progress }) => {
        progress(40, 100, 'almost');
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
        events.push('aborted');
      })
      .initialize(() => {})
      .close(() => void events.push('closed'));
}

describe.skipIf(executablePath === undefined)('the page of the development helpers, in Chromium', () => {
  const open = useChromium(executablePath, (message) => message.type() === 'error');
  const openPage = (url: string) => open(url.replace('/mcp', '/svc'));
  const form = (page: Page, tool: string) => page.locator(`form[data-tool="${tool}"]`);

  it('calls a tool with what its form says, in one session, and shows the result, images too', async () => {
    const url = await serveHttp(createShown());
    const { page, problems, hosts } = await openPage(url);
    const add = form(page, 'add');
    await add.locator('[data-name="by"]').fill('3');
    await add.locator('[data-name="mode"]').selectOption({ label: 'loud' });
    await add.locator('button[type="submit"]').click();
    await add.locator('.good').waitFor();
    expect(JSON.parse(String(await add.locator('output > pre').textContent()))).toEqual({
      count: 3,
      by: 3,
      mode: 'loud',
    });
    await add.locator('[data-name="note"]').fill('"quoted" <b>');
    await add.locator('button[type="submit"]').click();
    await page.waitForFunction(() =>
      document.querySelector('form[data-tool="add"] output > pre')?.textContent?.includes('quoted'),
    );
    expect(JSON.parse(String(await add.locator('output > pre').textContent()))).toMatchObject({
      count: 6,
      note: '"quoted" <b>',
    });
    await form(page, 'picture').locator('button[type="submit"]').click();
    const shown = form(page, 'picture').locator('img');
    await shown.waitFor();
    await expect.poll(() => shown.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(1);
    expect([problems, [...hosts]]).toEqual([[], [new URL(url).host]]);
    await page.close();
  });

  it('shows markup as text, errors of a tool, and arguments that are refused', async () => {
    const { page, problems } = await openPage(await serveHttp(createShown()));
    for (const [tool, text] of [
      ['markup', '<b>bold</b>'],
      ['refuse', 'Not on Sundays'],
      ['add', 'by'],
    ] as const) {
      await form(page, tool).locator('button[type="submit"]').click();
      await form(page, tool).locator('.state:is(.good, .bad)').waitFor();
      expect(await form(page, tool).locator('output > pre').first().textContent()).toContain(text);
    }
    expect(await form(page, 'refuse').locator('.bad').count()).toBe(1);
    expect(await form(page, 'markup').locator('output img, output b').count()).toBe(0);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('shows progress, cancels a call, and ends its session when it is left', async () => {
    const events: string[] = [];
    const { page } = await openPage(await serveHttp(createShown(events)));
    const wait = form(page, 'wait');
    await wait.locator('button[type="submit"]').click();
    await wait.getByText('Running: 40 of 100, almost').waitFor();
    await wait.locator('.cancel').click();
    await wait.getByText('Cancelled.').waitFor();
    await until(() => events.includes('aborted'));
    await page.goto('about:blank');
    await until(() => events.includes('closed'));
    await page.close();
  });

  it('fits narrow and wide windows, in light and dark', async () => {
    const { page } = await openPage(await serveHttp(createShown()));
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [390, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      }
    }
    await page.close();
  });
});
