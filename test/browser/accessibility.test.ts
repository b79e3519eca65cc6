import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { calls, says } from '../gateway.ts';
import { newTrace } from '../store/traces/events.ts';
import { BROKEN, BROWSING, CODING } from '../web/example-traces.ts';
import { shopTarget } from '../web/shop-environment.ts';
import { openSite } from '../web/site.ts';
import { findChromium, useChromium } from './chromium.ts';
import { choose, openPlayground, PATIENCE, turnIsOver } from './open-playground.ts';
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
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe.source);
  const { violations } = (await page.evaluate('axe.run({ resultTypes: ["violations"] })')) as AxeReport;
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    );
}

function openEverything(): void {
  for (const details of document.querySelectorAll('details')) details.open = true;
}

const LOOKS = [
  { colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
  { colorScheme: 'light', viewport: { width: 390, height: 844 } },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const;

/** Stops of the keyboard that are looked at on each page. */
const TABS = 24;

/** What has the focus, and whether somebody who looks at the window can tell. */
function describeFocus(): { readonly name: string; readonly isSeen: boolean } {
  const focused = document.activeElement;
  if (focused === null || focused === document.body) return { name: 'the document', isSeen: true };
  // A field may have its outline around what stands beside it.
  const outlined = [focused, focused.closest('.search')].filter((each) => each !== null);
  const { top, bottom, width, height } = focused.getBoundingClientRect();
  const isInWindow = bottom > 0 && top < innerHeight && width > 0 && height > 0;
  const name = `${focused.outerHTML.slice(0, 120)} at ${Math.round(top)}`;
  const isOutlined = outlined.some((each) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(each);
    return outlineStyle !== 'none' && Number.parseFloat(outlineWidth) >= 1;
  });
  return { name, isSeen: isInWindow && isOutlined };
}

describe.skipIf(executablePath === undefined)('for everybody, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  /** In every look nothing is serious by axe, and nothing wider than the window. */
  async function expectUsable(page: Page, what: string): Promise<void> {
    for (const { colorScheme, viewport } of LOOKS) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      const seen = `${what}, ${colorScheme}, ${viewport.width} wide`;
      expect([seen, await seriousProblems(page)]).toEqual([seen, []]);
      expect([seen, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([seen, viewport.width]);
    }
  }

  it('axe finds nothing serious in runs and traces, light and dark, wide and narrow, and nothing is wider than the window', async () => {
    const site = await openSite();
    const { page } = await openPage(await signedIn(site, '/usage'));
    for (const { bodies, queued } of [CODING, BROKEN, BROWSING]) {
      const traceId = await site.addTrace(bodies, newTrace(queued));
      await page.goto(`${site.url}/traces/${traceId}`);
      await page.locator('.verdict').waitFor();
      await page.evaluate(openEverything);
      await expectUsable(page, `the trace of ${queued.env_name}`);
    }
    await page.goto(site.url);
    await page.locator('.table').waitFor();
    await page.locator('.histogram').waitFor();
    await expectUsable(page, 'runs');
    await page.close();
  });

  it('nor in environments, their tools and forms, and usage', async () => {
    const site = await openSite({ service: { environments: new Map([['shop', shopTarget()]]) } });
    const run = { env_name: 'shop', scenario_name: 'order' };
    for (const { bodies, queued } of [CODING, BROKEN, BROWSING]) {
      await site.addTrace(bodies, newTrace({ ...queued, ...run }));
    }
    const { page } = await openPage(await signedIn(site, '/environments'));
    await page.locator('.environment-list').waitFor();
    await expectUsable(page, 'environments');
    await page.getByRole('link', { name: /^shop/ }).click();
    await page.locator('.reward-bar').first().waitFor();
    await page.locator('.tool-entry').first().waitFor();
    await page.evaluate(openEverything);
    await page.getByRole('button', { name: 'Start a run' }).first().click();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.locator('[aria-invalid]').first().waitFor();
    await expectUsable(page, 'an environment and a form');
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.locator('.usage .table').waitFor();
    await expectUsable(page, 'usage');
    await page.close();
  });

  it('nor in the sign-in form and the playground', async () => {
    const playground = await openPlayground(calls(['increment', { by: 3 }]), says('It shows three.'));
    const { page } = await openPage(playground.url);
    await expectUsable(page, 'sign-in');
    await page.goto(playground.address);
    await page.locator('#choices').waitFor();
    await expectUsable(page, 'a playground');
    await choose(page, 'count_to', { target: '3' });
    await turnIsOver(page);
    await page.evaluate(openEverything);
    await expectUsable(page, 'a session');
    await page.getByRole('button', { name: 'Finish…' }).click();
    await expectUsable(page, 'an answer');
    await page.getByRole('button', { name: 'Submit and evaluate' }).click();
    await page.locator('#evaluation').waitFor();
    await expectUsable(page, 'a reward');
    await page.close();
  });

  it('what the keyboard is at is to be seen, on every page', async () => {
    const site = await openSite({ service: { environments: new Map([['shop', shopTarget()]]) } });
    const traceId = await site.addTrace(CODING.bodies, newTrace(CODING.queued));
    const pages = {
      '/': '.histogram',
      '/environments/shop': '.tool-entry',
      '/usage': '.table',
      [`/traces/${traceId}`]: '.verdict',
    };
    for (const [path, ready] of Object.entries(pages)) {
      const { page } = await openPage(await signedIn(site, path));
      await page.locator(ready).first().waitFor();
      const reached = new Set<string>();
      for (let count = 0; count < TABS; count++) {
        await page.keyboard.press('Tab');
        const { name, isSeen } = await page.evaluate(describeFocus);
        expect([path, name, isSeen]).toEqual([path, name, true]);
        reached.add(name);
      }
      expect([path, reached.size > TABS / 2]).toEqual([path, true]);
      await page.close();
    }
  });

  it('nor in dialogs', async () => {
    const site = await openSite();
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
