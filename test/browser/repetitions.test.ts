import { describe, expect, it } from 'vitest';
import { regradeSchema } from '../../src/contract/service/regrade.ts';
import { createCode, createNotebook } from '../evaluation/checks/notebook.ts';
import { until } from '../until.ts';
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
    await page.getByText(/of 100, \d repeated/).waitFor();
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

  it('an evaluation is graded again, says what changed, and shows the rewards of either', async () => {
    const code = createCode({ reward: (notes) => (notes.length > 0 ? 1 : 0) });
    const environments = new Map([['notebook', createNotebook(code)]]);
    const site = await openSite({ service: { worker: {}, environments } });
    const tasks = ['a', 'b'].map((words) => ({ id: words, env: 'notebook', scenario: 'write', args: { words } }));
    const { json } = await site.request('/v1/evaluations', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ tasks, models: ['proctor/oracle', 'proctor/noop'] }),
    });
    const { evaluation_id: id } = json as { evaluation_id: string };
    await site.request(`/v1/evaluations/${id}?wait=60`);
    code.reward = () => 0.5;
    const { page, problems } = await openPage(await signedIn(site, `/evaluations/${id}`));
    await page.getByRole('button', { name: 'Grade again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Grade again' }).click();
    await page.waitForURL(/\/regrades\//);
    const { pathname } = new URL(page.url());
    await until(async () => regradeSchema.parse((await site.request(`/v1${pathname}`)).json).status === 'completed');
    await page.reload();
    await page.getByText('0 as before, 4 changed').waitFor();
    await page
      .getByRole('table', { name: 'Runs that did not come out as before' })
      .getByRole('link', { name: 'a', exact: true })
      .first()
      .waitFor();
    expect(await seriousProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'The evaluation' }).click();
    await page.getByRole('link', { name: 'Newest grades' }).click();
    await page.getByRole('link', { name: 'Newest grades' }).and(page.locator('[aria-current=true]')).waitFor();
    await page.getByRole('region', { name: 'Mean reward' }).getByText('0.5').first().waitFor();
    expect(await seriousProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'what changed' }).click();
    await page.getByText('0 as before, 4 changed').waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });
});
