import { describe, expect, it } from 'vitest';
import { openSite } from '../web/site.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused, signedIn } from './open-trace.ts';
import { seriousProblems } from './serious-problems.ts';

const executablePath = findChromium('test/browser/repetitions.test.ts');

describe.skipIf(executablePath === undefined)('traces that are repeated, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  it('a model goes on from a step, and both pages link each other', async () => {
    const site = await openSite({ service: { worker: {} } });
    const { trace_id: id } = (await site.run()).json as { trace_id: string };
    await site.ended(id);
    const { page, problems } = await openPage(await signedIn(site, `/traces/${id}`));
    await page.getByRole('button', { name: 'Continue from here' }).click();
    const dialog = page.getByRole('dialog', { name: 'Continue from step 1' });
    await dialog.getByLabel('Model').fill('proctor/none');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('Model').fill('proctor/noop');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Continues after step 1 of').waitFor();
    expect(await seriousProblems(page)).toEqual([]);
    await page.getByRole('article', { name: 'Step 1' }).getByText('repeated').waitFor();
    await page.getByText('Continues after step 1 of').getByRole('link').click();
    await page.getByText('continues after step 1 with proctor/noop').waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it('a replay says that nothing differs, and a new grade stands beside the reward', async () => {
    const site = await openSite({ service: { worker: {} } });
    const { trace_id: id } = (await site.run()).json as { trace_id: string };
    await site.ended(id);
    const { page, problems } = await openPage(await signedIn(site, `/traces/${id}`));
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByText('Nothing differs from the trace.').waitFor();
    await page.goto(`${site.url}/traces/${id}`);
    await page.getByRole('button', { name: 'Grade again' }).click();
    await page.getByText('1 as before, 0 changed').waitFor();
    expect(await seriousProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'The trace' }).click();
    await page.getByRole('table', { name: 'Grades' }).getByText('current').waitFor();
    expect(await seriousProblems(page)).toEqual([]);
    expect(problems).toEqual([]);
    await page.close();
  });
});
