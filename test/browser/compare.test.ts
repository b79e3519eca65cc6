import type { BrowserContextOptions } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventBody } from '../../src/contract/service/event.ts';
import { newTrace, newTraceId } from '../store/traces/events.ts';
import { CAREFUL, HASTY, MENDING, runOf } from '../web/compared-traces.ts';
import { BROKEN } from '../web/example-traces.ts';
import { longTrace } from '../web/long-trace.ts';
import { plant } from '../web/planted.ts';
import { openSite, type Site } from '../web/site.ts';
import { begun, ending, QUEUED, setUp, steps } from '../web/traces.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused, signedIn } from './open-trace.ts';
import { seriousProblems } from './serious-problems.ts';

const executablePath = findChromium('test/browser/compare.test.ts');

const WHOLE: readonly EventBody[] = [...begun, setUp, ...steps('none'), ...ending];

const LOOKS = [
  { colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
  { colorScheme: 'light', viewport: { width: 390, height: 844 } },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const;

async function openSiteOfTwo() {
  const site = await openSite();
  const hasty = await site.addTrace(runOf(HASTY), newTrace({ ...MENDING, model: 'hasty', seed: 7 }));
  const careful = await site.addTrace(runOf(CAREFUL), newTrace({ ...MENDING, model: 'careful', seed: 7 }));
  return { site, hasty, careful };
}

describe.skipIf(executablePath === undefined)('the page of a comparison, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  async function openAt(site: Site, path: string, options: BrowserContextOptions = {}) {
    const opened = await openPage(await signedIn(site, '/environments'), options);
    onTestFinished(async () => {
      await opened.page.close();
      expect([opened.problems, [...opened.hosts]]).toEqual([[], [new URL(site.url).host]]);
    });
    await opened.page.goto(`${site.url}${path}`);
    return opened.page;
  }

  async function openComparison(site: Site, traceIds: readonly string[], options?: BrowserContextOptions) {
    const page = await openAt(site, `/compare?traces=${traceIds.join(',')}`, options);
    await page.locator('.compared-list').waitFor();
    return page;
  }

  it('is opened from the list, in which runs are selected by the keyboard, and stay so while it is filtered', async () => {
    const { site, hasty, careful } = await openSiteOfTwo();
    const page = await openAt(site, '/');
    const boxes = page.getByRole('checkbox');
    await boxes.first().focus();
    await page.keyboard.press('Space');
    const bar = page.getByRole('region', { name: 'Selected runs' });
    await bar.getByText('select another').waitFor();
    expect(new URL(page.url()).searchParams.get('compare')).toBe(careful);
    await page.getByLabel('Model').selectOption('hasty');
    await bar.getByText('1 not on this page').waitFor();
    await expect.poll(() => boxes.count()).toBe(1);
    await boxes.first().focus();
    await page.keyboard.press('Space');
    await page.getByRole('link', { name: 'Clear all filters' }).click();
    await page.reload();
    await expect.poll(() => page.getByRole('checkbox', { checked: true }).count()).toBe(2);
    await bar.getByRole('link', { name: 'Compare 2 runs' }).click();
    await page.getByRole('heading', { name: 'Compare 2 runs' }).waitFor();
    expect(new URL(page.url()).searchParams.get('traces')).toBe(`${careful},${hasty}`);
    await page.goBack();
    await bar.getByRole('button', { name: 'Clear' }).click();
    await expect.poll(() => page.getByRole('checkbox', { checked: true }).count()).toBe(0);
    expect(new URL(page.url()).search).toBe('');
  });

  it('has rewards, subscores and what the runs took side by side, with what one has more', async () => {
    const { site, hasty, careful } = await openSiteOfTwo();
    const page = await openComparison(site, [hasty, careful]);
    const cellsOf = async (name: string) =>
      (await page.locator('.run-table').getByRole('row', { name }).getByRole('cell').allTextContents()).map((text) =>
        text.trim(),
      );
    expect(await page.locator('.run-card-reward').allTextContents()).toEqual(['0.778', '1+0.222']);
    expect(await cellsOf('hidden tests')).toEqual(['0.333', '1 +0.667']);
    expect(await cellsOf('Steps')).toEqual(['5', '6 +1']);
    expect(await cellsOf('Cost')).toEqual(['$0.021', '$0.037 +$0.016']);
    expect(await cellsOf('Environment code')).toEqual(['ab12ab12ab12', 'cd34cd34cd34']);
    expect(await page.getByRole('row', { name: 'Seed' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Put it first' }).click();
    await page.locator('.run-card-reward', { hasText: '−0.222' }).waitFor();
    expect(new URL(page.url()).searchParams.get('traces')).toBe(`${careful},${hasty}`);
  });

  it('says where the runs part, and aligns their steps though one has a step more', async () => {
    const { site, hasty, careful } = await openSiteOfTwo();
    const page = await openComparison(site, [hasty, careful]);
    const panel = page.getByRole('region', { name: 'The first difference' });
    expect(await panel.textContent()).toBe('They part at step 2Only B has it: it calls run_command.');
    const rowOf = (title: string) => page.getByRole('article', { name: title });
    expect(await rowOf('Step 2').locator('.compared-cell').allTextContents()).toEqual([
      'A Nothing here',
      expect.stringContaining('BStep 2'),
    ]);
    const edit = rowOf('Step 3').locator('.compared-cell');
    expect(await edit.nth(1).locator('.differs-tag').allTextContents()).toEqual([
      'other call',
      'other result',
      'other text',
      'other reasoning',
    ]);
    expect(await edit.nth(1).locator('.changed dt').allTextContents()).toEqual(['new_str', 'create only here']);
    expect(await edit.nth(0).locator('.changed dd').last().textContent()).toBe('not given');
    expect(await edit.nth(1).locator('.diff-line.added').first().textContent()).toContain('The queue is empty');
    expect(await edit.nth(0).locator('mark.removed').last().textContent()).toBe('front.');
    await edit.nth(1).getByRole('link', { name: 'Step 4 of B in its trace' }).click();
    await page.locator('#step-4').waitFor();
    expect(new URL(page.url()).pathname + new URL(page.url()).hash).toBe(`/traces/${careful}#step-4`);
  });

  it('folds what is the same, and lets one choose what counts', async () => {
    const { site, hasty, careful } = await openSiteOfTwo();
    const page = await openComparison(site, [hasty, careful]);
    const folds = page.locator('.same-rows');
    expect(await folds.locator('span:first-child').allTextContents()).toEqual([
      'The same prompt, 1 equal step',
      '1 equal step',
      '1 equal step',
    ]);
    const status = page.getByRole('toolbar').getByRole('status');
    expect(await status.textContent()).toBe('5 of 9 differ');
    await folds.first().click();
    await page.getByRole('article', { name: 'Step 1' }).getByText('test/queue.test.ts').first().waitFor();
    expect(await folds.first().getAttribute('aria-expanded')).toBe('true');
    for (const aspect of ['Text', 'Reasoning']) await page.getByRole('button', { name: aspect, exact: true }).click();
    await status.filter({ hasText: '3 of 9 differ' }).waitFor();
    await page.getByText('2 equal steps, the same answer').waitFor();
    expect(await page.locator('.differs-tag').allTextContents()).toEqual([
      'other call',
      'other result',
      'other result',
    ]);
  });

  it('goes from one difference to the next by keys, and back to the top', async () => {
    const { site, hasty, careful } = await openSiteOfTwo();
    const page = await openComparison(site, [hasty, careful], { viewport: { width: 1440, height: 500 } });
    await page.keyboard.press('j');
    await page.waitForFunction(() => location.hash === '#b-step-2');
    await page.keyboard.press('j');
    await page.waitForFunction(() => location.hash === '#a-step-3');
    await page.keyboard.press('k');
    await page.waitForFunction(() => location.hash === '#b-step-2');
    await page.keyboard.press('k');
    await page.waitForFunction(() => scrollY === 0);
    await page.getByRole('button', { name: 'The next difference' }).click();
    await page.waitForFunction(() => location.hash === '#b-step-2');
  });

  it('says of runs of different scenarios that they are, and compares up to four of them', async () => {
    const { site, hasty, careful } = await openSiteOfTwo();
    const other = await site.addTrace(WHOLE, newTrace(QUEUED));
    const broken = await site.addTrace(BROKEN.bodies, newTrace({ ...MENDING, scenario_args: { project: 'billing' } }));
    const page = await openComparison(site, [hasty, careful, other, broken]);
    expect(await page.locator('.notice').textContent()).toBe(
      'These runs are not of the same scenario: workspace / fix_tests, desk / exchange.',
    );
    expect(await page.locator('.run-card').count()).toBe(4);
    await page.locator('.run-card').nth(2).getByRole('link', { name: 'Take it out' }).click();
    await page.getByRole('heading', { name: 'Compare 3 runs' }).waitFor();
    await page.locator('.notice', { hasText: 'not with the same arguments: project' }).waitFor();
  });

  it('shows a run that goes on as far as it is, and more of it when it is read again', async () => {
    const { site, hasty } = await openSiteOfTwo();
    const events = runOf({ steps: HASTY.steps });
    const running = newTrace({ ...MENDING });
    await site.addTrace(events.slice(0, -1), running);
    const page = await openComparison(site, [hasty, running.traceId]);
    await page.locator('.notice', { hasText: 'B is not finished' }).waitFor();
    expect(await page.getByRole('article', { name: 'Step 5' }).locator('.compared-cell').last().textContent()).toBe(
      'BStep 5other textNo answer yet',
    );
    await site.store.append(running.traceId, 1, events.slice(-1));
    await page.getByRole('button', { name: 'Read again' }).click();
    await page.getByText('5 equal steps').waitFor();
  });

  it('says which trace is not there, or not of this account, and that one, none or too many are named', async () => {
    const { site, hasty, careful } = await openSiteOfTwo();
    const theirs = await site.addTrace(runOf(HASTY), newTrace(MENDING, { account: 'team' }));
    for (const unknown of [newTraceId(), theirs]) {
      const page = await openAt(site, `/compare?traces=${hasty},${unknown},${careful}`);
      await page
        .getByRole('alert')
        .filter({ hasText: `There is no trace "${unknown}"` })
        .waitFor();
      await page.getByRole('link', { name: 'Compare the other 2' }).click();
      await page.locator('.compared-list').waitFor();
    }
    const one = await openAt(site, `/compare?traces=${hasty}`);
    await one.getByRole('heading', { name: 'A comparison needs two runs' }).waitFor();
    await one.getByRole('link', { name: 'Select another in the list' }).click();
    await expect.poll(() => one.getByRole('checkbox', { checked: true }).count()).toBe(1);
    const none = await openAt(site, '/compare?traces=%3Cscript%3E');
    await none.getByRole('link', { name: 'Select two in the list' }).waitFor();
    const ids = [hasty, careful, newTraceId(), newTraceId(), newTraceId()];
    const many = await openAt(site, `/compare?traces=${ids.join(',')}`);
    await many.getByRole('heading', { name: 'At most 4 runs are compared' }).waitFor();
    expect(await many.getByRole('link', { name: 'Compare the first 4' }).count()).toBe(1);
  });

  it('draws of long runs what is near to what is seen, and aligns all of it', async () => {
    const site = await openSite();
    const bodies = longTrace(300);
    const later = bodies.map((body) => ('step' in body && body.step > 100 ? { ...body, step: body.step + 1 } : body));
    const at = later.findIndex((body) => 'step' in body && body.step === 102);
    const more = later.flatMap((body) => ('step' in body && body.step === 100 ? [{ ...body, step: 101 }] : []));
    const ids = [
      await site.addTrace(bodies, newTrace()),
      await site.addTrace([...later.slice(0, at), ...more, ...later.slice(at)], newTrace()),
    ];
    const page = await openComparison(site, ids);
    await page.getByText('200 equal steps').waitFor();
    const panel = page.getByRole('region', { name: 'The first difference' });
    expect(await panel.textContent()).toContain('Only B has it: it calls read_file, run_command.');
    await page.locator('.same-rows', { hasText: '200 equal steps' }).click();
    const entries = page.locator('.compared-list .entry');
    await expect.poll(() => entries.count()).toBeGreaterThan(200);
    expect(await page.locator('.compared').count()).toBeLessThan(40);
  });

  it('shows whatever a run wrote as text, and nothing of it runs', async () => {
    const site = await openSite();
    const ids = [
      await site.addTrace(plant(WHOLE), newTrace(plant(QUEUED))),
      await site.addTrace(plant([...begun, setUp, ...steps('none')]), newTrace()),
      await site.addTrace(WHOLE, newTrace(QUEUED)),
    ];
    const page = await openComparison(site, ids);
    page.on('dialog', () => expect.unreachable('A dialog was opened'));
    for (const fold of await page.locator('.same-rows').all()) await fold.click();
    for (const summary of await page.locator('summary').all()) await summary.click();
    const found = await page.evaluate(() => {
      const elements = [...document.querySelectorAll('*')];
      const hidden = /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
      return {
        planted: document.querySelectorAll('main :is(script, style, meta, base, form, iframe, img[src="x"])').length,
        handlers: elements.filter(({ attributes }) => [...attributes].some(({ name }) => name.startsWith('on'))).length,
        links: [...document.querySelectorAll('main a')].map((link) => link.getAttribute('href') ?? ''),
        times: (document.body.textContent ?? '').split('<script>alert(1)</script>').length - 1,
        hidden: hidden.test(document.querySelector('main')?.textContent ?? ''),
        title: document.title,
      };
    });
    expect(found).toMatchObject({ planted: 0, handlers: 0, hidden: false, title: 'Compare 3 runs · Proctor' });
    expect(found.times).toBeGreaterThan(40);
    expect(
      found.links.filter((link) => !/^(\/traces\/[0-9a-f]{32}|\/compare\?traces=[0-9a-f,]+)?(#[\w-]+)?$/.test(link)),
    ).toEqual([]);
  });

  it('axe finds nothing serious in it and in the list with a selection, light and dark, and nothing is wider than the window', async () => {
    const { site, hasty, careful } = await openSiteOfTwo();
    const running = await site.addTrace(runOf({ steps: HASTY.steps.slice(0, 2) }), newTrace(MENDING));
    const broken = await site.addTrace(BROKEN.bodies, newTrace(BROKEN.queued));
    for (const look of LOOKS) {
      for (const path of [
        `/compare?traces=${hasty},${careful}`,
        `/compare?traces=${careful},${running},${hasty},${broken}`,
        `/?compare=${hasty},${careful}`,
      ]) {
        const page = await openAt(site, path, look);
        await page.locator('.compared-list, .histogram').waitFor();
        for (const fold of await page.locator('.same-rows').all()) await fold.click();
        expect([path, look, await seriousProblems(page)]).toEqual([path, look, []]);
        const width: number = await page.evaluate('document.documentElement.scrollWidth');
        expect([path, width]).toEqual([path, look.viewport.width]);
      }
    }
  });
});
