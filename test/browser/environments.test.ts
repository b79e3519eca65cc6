import { describe, expect, it } from 'vitest';
import { openSite } from '../web/site.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused, signedIn } from './open-trace.ts';

const executablePath = findChromium('test/browser/environments.test.ts');

describe.skipIf(executablePath === undefined)('the pages of environments, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  it('lead from the list to a scenario, whose form starts a run and goes to its live trace', async () => {
    const site = await openSite({ service: { worker: {} } });
    const { page, problems } = await openPage(await signedIn(site, '/environments'));
    await page.getByRole('link', { name: /^counter/ }).click();
    await page.getByRole('heading', { name: 'counter', exact: true }).waitFor();
    const scenario = page.getByRole('article', { name: 'count_to' });
    await scenario.getByText('target').first().waitFor();
    await scenario.getByRole('button', { name: 'Start a run' }).click();

    await scenario.getByRole('button', { name: 'Start', exact: true }).click();
    await scenario.getByRole('alert').filter({ hasText: 'This is required.' }).waitFor();
    await scenario.getByLabel('target').fill('three');
    await scenario.getByRole('button', { name: 'Start', exact: true }).click();
    await scenario.getByRole('alert').filter({ hasText: 'This has to be a number.' }).waitFor();
    await scenario.getByLabel('target').fill('1.5');
    await scenario.getByRole('button', { name: 'Start', exact: true }).click();
    await scenario.getByRole('alert').filter({ hasText: 'target' }).waitFor();
    expect(await site.countRuns()).toBe(0);

    await scenario.getByLabel('target').fill('2');
    await scenario.getByRole('button', { name: 'Start', exact: true }).click();
    await page.waitForURL(/\/traces\/[0-9a-f]{32}$/);
    await page.locator('.verdict h2', { hasText: 'Passed' }).waitFor();
    expect(await page.locator('.trace-arguments').textContent()).toBe('{"target":2}');
    await page.goBack();
    await page.locator('.table', { hasText: 'count_to' }).waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });
});
