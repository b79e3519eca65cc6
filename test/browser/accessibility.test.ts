import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { newTrace } from '../trace/events.ts';
import { BROKEN, BROWSING, CODING } from '../web/example-traces.ts';
import { openSite } from '../web/site.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused, signedIn } from './open-trace.ts';

const executablePath = findChromium('test/browser/accessibility.test.ts');

interface AxeReport {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

/** What axe takes for serious or worse, with where it is. */
async function seriousProblems(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run()')) as AxeReport;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    );
}

const LOOKS = [
  { colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
  { colorScheme: 'light', viewport: { width: 390, height: 844 } },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const;

describe.skipIf(executablePath === undefined)('for everybody, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  it('axe finds nothing serious, light and dark, wide and narrow, and nothing is wider than the window', async () => {
    const site = await openSite();
    const traces = await Promise.all(
      [CODING, BROKEN, BROWSING].map(({ bodies, queued }) => site.addTrace(bodies, newTrace(queued))),
    );
    for (const look of LOOKS) {
      // What is the same narrow and wide in its colours is looked at once.
      const shown = look.viewport.width < 1_000 ? traces.slice(0, 1) : traces;
      for (const path of ['/', '/usage', ...shown.map((id) => `/traces/${id}`)]) {
        const { page } = await openPage(await signedIn(site, path), look);
        const isTrace = path.startsWith('/traces/');
        await page
          .locator(isTrace ? '.verdict' : '.table')
          .first()
          .waitFor();
        if (path === '/') await page.locator('.histogram').waitFor();
        if (isTrace) for (const summary of await page.locator('summary').all()) await summary.click();
        expect([path, look, await seriousProblems(page)]).toEqual([path, look, []]);
        const width: number = await page.evaluate('document.documentElement.scrollWidth');
        expect([path, width]).toEqual([path, look.viewport.width]);
        await page.close();
      }
    }
  });

  it('axe finds nothing serious in the sign-in form and in dialogs', async () => {
    const site = await openSite();
    const form = await openPage(site.url);
    expect(await seriousProblems(form.page)).toEqual([]);
    await form.page.close();
    const traceId = await site.addTrace(BROWSING.bodies, newTrace(BROWSING.queued));
    const { page } = await openPage(await signedIn(site, `/traces/${traceId}`));
    await page.locator('.picture-strip button').first().click();
    await page.getByRole('dialog').waitFor();
    expect(await seriousProblems(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    expect(await seriousProblems(page)).toEqual([]);
    await page.close();
  });

  it('the switch goes from the colours of the system to light and dark, and is remembered', async () => {
    const site = await openSite();
    const { page } = await openPage(await signedIn(site, '/'), { colorScheme: 'dark' });
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const dark = await ground();
    await page.getByRole('button', { name: 'Colours of the system: change' }).click();
    const light = await ground();
    expect(light).not.toBe(dark);
    await page.reload();
    await page.getByRole('button', { name: 'Light colours: change' }).waitFor();
    expect(await ground()).toBe(light);
    await page.getByRole('button', { name: 'Light colours: change' }).click();
    expect(await ground()).toBe(dark);
    await page.close();
  });
});
