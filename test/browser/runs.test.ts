import { describe, expect, it } from 'vitest';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import { finished, newTrace, ready, responded, started } from '../store/traces/events.ts';
import { openSite, type Site } from '../web/site.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused, signedIn } from './open-trace.ts';

const executablePath = findChromium('test/browser/runs.test.ts');

const MARKUP = '<img src=x onerror="document.title=1">';

async function openSiteOfRuns(): Promise<Site> {
  const site = await openSite();
  const add = (reward: number | null, queued: Parameters<typeof newTrace>[0]) => {
    const end = reward === null ? [] : [responded(1), finished(reward)];
    return site.addTrace([started, ...end], newTrace(queued));
  };
  for (let index = 0; index < 55; index++) {
    await add(index % 2, { env_name: 'retail', model: index % 5 === 0 ? 'gpt' : 'qwen', metadata: { team: 'a' } });
  }
  await add(0.5, { env_name: 'counter', model: MARKUP, metadata: { team: 'b' } });
  await add(null, { env_name: 'counter' });
  return site;
}

describe.skipIf(executablePath === undefined)('the pages of runs and of usage, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  it('filter, sort and page the runs by the address, with what they come to above', async () => {
    const site = await openSiteOfRuns();
    const { page, problems } = await openPage(await signedIn(site, '/'));
    const figure = (title: string) => page.locator('.run-totals div', { hasText: title }).locator('dd').first();
    const rows = page.locator('.table tbody tr');
    await figure('Runs').filter({ hasText: '57' }).waitFor();
    expect(await rows.count()).toBe(50);
    expect(await page.locator('.histogram title').textContent()).toContain('0.5 to 0.6: 1');

    await page.getByLabel('Environment').selectOption('retail');
    await figure('Runs').filter({ hasText: '55' }).waitFor();
    expect(new URL(page.url()).search).toBe('?env_name=retail');
    await page.getByLabel('Reward from').fill('1');
    await page.getByLabel('Reward from').press('Enter');
    await figure('Runs').filter({ hasText: '27' }).waitFor();
    expect(await figure('Pass rate').textContent()).toBe('100 %');
    await expect.poll(() => rows.count()).toBe(27);

    await page.reload();
    await figure('Runs').filter({ hasText: '27' }).waitFor();
    expect(await page.getByLabel('Environment').inputValue()).toBe('retail');
    await page.goBack();
    await figure('Runs').filter({ hasText: '55' }).waitFor();
    expect(await page.getByLabel('Reward from').inputValue()).toBe('');

    await page.getByRole('link', { name: 'Reward', exact: true }).click();
    await page.waitForURL(/sort=reward/);
    await rows.first().locator('.reward', { hasText: '1' }).waitFor();
    await page.getByRole('link', { name: 'Older runs' }).click();
    await expect.poll(() => rows.count()).toBe(5);
    expect(new URL(page.url()).searchParams.get('env_name')).toBe('retail');

    await page.getByRole('link', { name: 'Clear all filters' }).click();
    const before = page.url();
    await page.getByLabel('Metadata').fill('team');
    await page.getByLabel('Metadata').press('Enter');
    expect(
      await page.getByLabel('Metadata').evaluate((field) => (field as HTMLInputElement).validationMessage),
    ).toContain('team=search');
    expect(page.url()).toBe(before);
    await page.getByLabel('Metadata').fill('team=b');
    await page.getByLabel('Metadata').press('Enter');
    await expect.poll(() => rows.count()).toBe(1);
    expect(await rows.first().textContent()).toContain(MARKUP);
    await page.getByRole('link', { name: 'Without team=b' }).click();
    await page.goto(`${site.url}/?status=failed`);
    await page.getByRole('heading', { name: 'Nothing matches the filters' }).waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it('tell and sort by how long a run has run; its time in the queue stands apart, on the page of its trace too', async () => {
    const site = await openSite();
    let now = Date.now() - 600_000;
    const store = createTraceStore(site.database, { appUrl: site.url, now: () => now });
    const add = async (waitedMs: number, ranMs: number) => {
      const trace = newTrace();
      await store.create(trace);
      now += waitedMs;
      await store.append(trace.traceId, 1, [started, ready, responded(1)]);
      now += ranMs;
      await store.append(trace.traceId, 1, [finished(1)]);
      return trace.traceId;
    };
    const waited = await add(70_000, 75);
    await add(5, 3_000);
    const { page, problems } = await openPage(await signedIn(site, '/'));
    const durations = page.locator('td[data-column="duration"]');
    await page.getByRole('link', { name: 'Duration' }).click();
    await page.waitForURL(/sort=duration/);
    await expect.poll(() => durations.allInnerTexts()).toEqual(['3 s', '75 ms\n1 min 10 s queued']);
    await page.goto(`${site.url}/traces/${waited}`);
    const figure = page.locator('.figure', { hasText: 'Duration' }).locator('dd');
    await expect.poll(() => figure.textContent()).toBe('75 ms 1 min 10 s queued');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('show a new run by themselves', async () => {
    const site = await openSite();
    const { page, problems } = await openPage(await signedIn(site, '/'));
    await page.getByRole('heading', { name: 'No runs yet' }).waitFor();
    await site.addTrace([started, responded(1), finished(1)], newTrace());
    await page.locator('.table tbody tr').waitFor();
    await page.locator('.totals-count', { hasText: '100 %' }).waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it('offer as filters what there is, those of the chosen environment, and filter by the cell that is clicked', async () => {
    const site = await openSite();
    const add = (queued: Parameters<typeof newTrace>[0], reward = 1) =>
      site.addTrace([started, finished(reward)], newTrace(queued));
    await add({ env_name: 'retail', scenario_name: 'task', model: 'gpt' });
    await add({ env_name: 'retail', scenario_name: 'task', model: 'proctor/oracle', origin: 'chat' }, 0);
    await add({ env_name: 'counter', model: 'qwen' }, 0.5);
    await site.addTrace([started], newTrace({ env_name: 'counter', model: 'qwen' }));
    const { page, problems } = await openPage(await signedIn(site, '/'));
    const rows = page.locator('.table tbody tr');
    const choices = (label: string) => page.getByLabel(label, { exact: true }).locator('option').allTextContents();
    await expect.poll(() => choices('Environment')).toEqual(['any', 'counter', 'retail']);
    expect(await choices('Scenario')).toEqual(['any', 'count_to', 'task']);
    expect(await choices('Model')).toEqual(['any', 'gpt', 'proctor/oracle', 'qwen']);
    expect(await choices('Status')).toEqual(['any', 'running', 'completed']);
    expect(await choices('Origin')).toEqual(['any', 'chat', 'run']);
    await page.getByLabel('Environment').selectOption('retail');
    await expect.poll(() => choices('Model')).toEqual(['any', 'gpt', 'proctor/oracle']);
    await expect.poll(() => rows.count()).toBe(2);

    await rows.getByRole('link', { name: 'gpt', exact: true }).click();
    await expect.poll(() => rows.count()).toBe(1);
    expect(new URL(page.url()).search).toBe('?env_name=retail&model=gpt');
    expect(await page.getByLabel('Model').inputValue()).toBe('gpt');
    await page.goto(`${site.url}/`);
    await rows.getByRole('link', { name: 'task' }).first().click();
    await expect.poll(() => rows.count()).toBe(2);
    await rows.getByRole('link', { name: '0', exact: true }).click();
    await expect.poll(() => rows.count()).toBe(1);
    await page.goto(`${site.url}/`);
    await rows.getByRole('link', { name: 'running' }).click();
    await expect.poll(() => rows.count()).toBe(1);
    await page.goto(`${site.url}/?model=unheard`);
    await page.getByRole('heading', { name: 'Nothing matches the filters' }).waitFor();
    expect(await page.getByLabel('Model').inputValue()).toBe('unheard');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('say beside the mean how many runs have a reward; a reward is drawn stronger than that a run is completed', async () => {
    const site = await openSite();
    for (const reward of [1, 0]) await site.addTrace([started, responded(1), finished(reward)], newTrace());
    await site.addTrace([started, finished(null, { status: 'failed', stop_reason: 'error' })], newTrace());
    const { page, problems } = await openPage(await signedIn(site, '/'));
    const mean = page.locator('.run-totals div', { hasText: 'Mean reward' });
    await mean.filter({ hasText: 'over 2 of 3: 1 without a reward' }).waitFor();
    const row = page.locator('.table tbody tr', { hasText: 'completed' }).first();
    const looks = (selector: string) =>
      row.locator(selector).evaluate((element) => {
        const { color, backgroundColor, fontWeight } = getComputedStyle(element);
        return { color, backgroundColor, fontWeight };
      });
    const quiet = await page
      .locator('thead th')
      .last()
      .evaluate((element) => getComputedStyle(element).color);
    expect(await looks('.badge')).toEqual({ color: quiet, backgroundColor: 'rgba(0, 0, 0, 0)', fontWeight: '400' });
    expect((await looks('.reward')).fontWeight).toBe('650');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('tell costs where they are known, of how many runs, and have no column for none', async () => {
    const site = await openSite();
    await site.addTrace([started, responded(1), finished(1)], newTrace());
    const { page, problems } = await openPage(await signedIn(site, '/'));
    await page.locator('.table tbody tr').waitFor();
    expect(await page.locator('thead').textContent()).not.toContain('Cost');
    for (const cost of [0.25, 0.0042]) await site.addTrace([started, responded(1, { cost }), finished(1)], newTrace());
    const figure = page.locator('.run-totals div', { hasText: 'Cost on this page' });
    await figure.filter({ hasText: '$0.25' }).filter({ hasText: 'known of 2 of 3 runs' }).waitFor();
    await expect
      .poll(() => page.locator('td[data-column="cost"]').allTextContents())
      .toEqual(['$0.0042', '$0.25', '–']);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('are selected up to four, which is said; on a narrow screen each is a card that needs no scrolling aside', async () => {
    const site = await openSiteOfRuns();
    const { page, problems } = await openPage(await signedIn(site, '/'), { viewport: { width: 390, height: 844 } });
    const boxes = page.getByRole('checkbox');
    await boxes.first().waitFor();
    for (let index = 0; index < 4; index++) await boxes.nth(index).check();
    await page.getByText('no more than 4 are compared').waitFor();
    expect(await boxes.nth(4).isDisabled()).toBe(true);
    await boxes.nth(0).uncheck();
    await expect.poll(() => boxes.nth(4).isEnabled()).toBe(true);
    const scroller = page.locator('.table-scroll');
    const [inner, outer] = await scroller.evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth]);
    expect(inner).toBe(outer);
    const row = page.locator('.table tbody tr').last();
    expect(await row.locator('td[data-column="took"]').textContent()).toMatch(/^1 step · 110 tokens/);
    expect(await row.locator('td[data-column="took"]').isVisible()).toBe(true);
    expect(await row.locator('td[data-column="steps"]').isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Filters' }).click();
    await page.getByLabel('Model').selectOption('gpt');
    await page.getByText('3 not on this page').waitFor();
    expect(await page.getByRole('button', { name: 'Filters (some are set)' }).getAttribute('aria-expanded')).toBe(
      'true',
    );
    expect(problems).toEqual([]);
    await page.close();
  });

  it('tell usage by day, model, environment and key', async () => {
    const site = await openSiteOfRuns();
    const { page, problems } = await openPage(await signedIn(site, '/usage'));
    const rows = page.locator('.table tbody tr');
    await rows.filter({ hasText: new Date().toISOString().slice(0, 7) }).waitFor();
    await page.getByRole('link', { name: 'Model', exact: true }).click();
    await rows.filter({ hasText: 'qwen' }).filter({ hasText: '44' }).waitFor();
    await rows.filter({ hasText: MARKUP }).waitFor();
    await page.getByRole('link', { name: 'Environment', exact: true }).click();
    await rows.filter({ hasText: 'retail' }).filter({ hasText: '55' }).waitFor();
    await page.getByRole('link', { name: 'API key', exact: true }).click();
    await rows.filter({ hasText: 'without a key' }).waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });
});
