import { readFileSync } from 'node:fs';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { TABLE_COLUMNS } from '../../src/store/formats/attempt-table.ts';
import { readCsv } from '../store/formats/csv.ts';
import { finished, newTrace, responded, started } from '../store/traces/events.ts';
import { addEvaluation, chanceOf, type MadeUpAttempt, type MadeUpEvaluation, toRow } from '../web/evaluations.ts';
import { openSite, type Site } from '../web/site.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused, signedIn } from './open-trace.ts';
import { seriousProblems } from './serious-problems.ts';

const executablePath = findChromium('test/browser/evaluations.test.ts');

const MARKUP = '<img src=x onerror="document.title=1">';
const MODELS = ['strong', 'middling', 'weak'];
const SHARES = [0.8, 0.6, 0.3];

const LOOKS = [
  { colorScheme: 'light', viewport: { width: 1440, height: 900 } },
  { colorScheme: 'dark', viewport: { width: 1440, height: 900 } },
  { colorScheme: 'light', viewport: { width: 390, height: 844 } },
  { colorScheme: 'dark', viewport: { width: 390, height: 844 } },
] as const;

function attemptOf(task: number, model: number, attempt: number): MadeUpAttempt {
  const chance = chanceOf(task, model, attempt);
  if (chance > 0.98) return { outcome: 'model_error', rerun: 3 };
  if (chance > 0.95) return { outcome: 'limit', reward: 0.5 };
  return { outcome: 'graded', reward: chance < (SHARES[model] ?? 0) ? 1 : 0 };
}

const idsOf = (count: number) => Array.from({ length: count }, (_, index) => `task-${String(index).padStart(5, '0')}`);

const NIGHTLY: MadeUpEvaluation = {
  name: 'nightly',
  tasksetName: 'retail/task',
  taskIds: idsOf(200),
  models: MODELS,
  attempts: 4,
  attempt: attemptOf,
};

describe.skipIf(executablePath === undefined)('the pages of evaluations, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  async function openAt(site: Site, path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const { page } = await openPage(await signedIn(site, '/usage'), options);
    await page.goto(`${site.url}${path}`);
    return page;
  }

  it('one has a button that downloads its 2,400 attempts as a table', async () => {
    const site = await openSite();
    const id = await addEvaluation(site.database, NIGHTLY);
    const page = await openAt(site, `/evaluations/${id}`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Table (CSV)' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`${id}-attempts.csv`);
    const [head, ...rows] = readCsv(readFileSync(await download.path(), 'utf8').slice(1));
    expect([head, rows.length]).toEqual([TABLE_COLUMNS, 2_400]);
  });

  it('one shows its models with intervals and both lines of the report, and a cell for each attempt that leads to its trace', async () => {
    const site = await openSite();
    const traceId = await site.addTrace([started, responded(1), finished(1)], newTrace({ origin: 'eval' }));
    const attempt: MadeUpEvaluation['attempt'] = (task, model, index) =>
      task === 3 && model === 0 && index === 1
        ? { outcome: 'graded', reward: 1, traceId }
        : attemptOf(task, model, index);
    const id = await addEvaluation(site.database, { ...NIGHTLY, attempt });
    const page = await openAt(site, `/evaluations/${id}`);
    await page.getByRole('heading', { name: 'nightly' }).waitFor();
    const results = await page.locator('.report-list li').allInnerTexts();
    expect(results).toHaveLength(3);
    expect(results[0]).toMatch(
      /^strong[\s\S]*\d\.\d\d \[\d\.\d\d, \d\.\d\d\], \d+ of 800 attempts\n\d\.\d\d with the \d+ missing as 0$/,
    );
    expect(await page.locator('.report-list .interval-line').count()).toBe(3);
    await page.locator('.matrix .cell').first().waitFor();
    // 200 rows are not drawn where 28 are seen.
    expect(await page.locator('.matrix-body [role=row]').count()).toBeLessThan(60);
    expect(await page.locator('.matrix').getAttribute('aria-rowcount')).toBe('201');
    // The head of a column stands above its cells.
    const left = async (selector: string) => (await page.locator(selector).first().boundingBox())?.x;
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      expect([width, await left('.matrix-model')]).toEqual([width, await left('.matrix-pair')]);
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByRole('link', { name: 'strong, attempt 1: graded, reward 1' }).nth(3).waitFor();
    await page.locator(`a.cell[href="/traces/${traceId}"]`).click();
    await page.waitForURL(`${site.url}/traces/${traceId}`);
    await page.locator('.verdict').waitFor();
    await page.close();
  });

  it('filters by outcome, model and difference, sorts, searches, and keeps all of it in the address', async () => {
    const site = await openSite();
    const id = await addEvaluation(site.database, NIGHTLY);
    const page = await openAt(site, `/evaluations/${id}`);
    const matched = page.locator('.tasks h2 [role=status]');
    await matched.filter({ hasText: '200' }).waitFor();
    await page.getByRole('combobox', { name: 'Outcome' }).selectOption('model error');
    await page.getByText(/^\d+ of 200 tasks match$/).waitFor();
    expect(new URL(page.url()).search).toBe('?outcome=model_error');
    await page.getByRole('combobox', { name: 'Outcome' }).selectOption('any');
    await page.getByRole('searchbox', { name: 'Task' }).fill('TASK-0001');
    await page.getByRole('searchbox', { name: 'Task' }).press('Enter');
    await page.getByText('10 of 200 tasks match').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await matched.filter({ hasText: /^200$/ }).waitFor();
    await page.getByLabel('Order').selectOption('largest difference first');
    await page.waitForURL(/sort=differs/);
    await page.reload();
    await matched.filter({ hasText: /^200$/ }).waitFor();
    expect(await page.getByLabel('Order').inputValue()).toBe('differs');
    await page.locator('.matrix-filters').getByRole('combobox', { name: 'Model' }).selectOption('weak');
    await expect.poll(() => page.locator('.matrix-model').count()).toBe(1);
    const outcomes = page.getByRole('region', { name: 'Outcomes by model' });
    await outcomes.getByRole('row', { name: 'limit' }).getByRole('link').first().click();
    await page.waitForURL(/outcome=limit/);
    await page.getByText(/^\d+ of 200 tasks match$/).waitFor();
    await page.close();
  });

  it('is one stop of the keyboard: arrows go from cell to cell, End to the last task, Enter opens what is there', async () => {
    const site = await openSite();
    const id = await addEvaluation(site.database, NIGHTLY);
    const page = await openAt(site, `/evaluations/${id}`);
    const grid = page.getByRole('grid', { name: 'Tasks and their attempts' });
    await page.locator('.matrix .cell').first().waitFor();
    await grid.focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => grid.getAttribute('aria-activedescendant')).toBe('cell-1-1');
    await page.keyboard.press('Control+End');
    await page.locator('#cell-199-12').waitFor();
    await expect.poll(() => grid.getAttribute('aria-activedescendant')).toBe('cell-199-12');
    await page.keyboard.press('Home');
    await page.locator('#cell-199-0 button').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Task task-00199' }).waitFor();
    await expect.poll(() => page.locator('.dialog tbody tr').count()).toBe(12);
    const sideBySide = await page.getByRole('link', { name: 'The models side by side' }).getAttribute('href');
    expect(sideBySide).toMatch(/^\/compare\?traces=[0-9a-f]{32},[0-9a-f]{32},[0-9a-f]{32}$/);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.close();
  });

  it('follows one that runs: progress, cells and its end come by themselves, and a deleted one is said to be gone', async () => {
    const site = await openSite();
    const id = await addEvaluation(site.database, {
      ...NIGHTLY,
      status: 'running',
      taskIds: ['a', 'b'],
      models: ['m'],
      attempts: 1,
      attempt: (task) => (task === 0 ? { state: 'running' } : undefined),
    });
    const { kysely } = site.database;
    const page = await openAt(site, `/evaluations/${id}`);
    await page.getByText('0 of 2 attempts have ended · 1 running').waitFor();
    const ended = (task: number) => toRow(id, { task, model: 0, attempt: 1 }, { outcome: 'graded', reward: 1 }, 0);
    await kysely.updateTable('evaluation_attempts').set(ended(0)).where('evaluation_id', '=', id).execute();
    await page.getByRole('link', { name: 'm, attempt 1: graded, reward 1' }).waitFor();
    await page.getByText('1 of 2 attempts have ended').waitFor();
    await kysely.insertInto('evaluation_attempts').values(ended(1)).execute();
    await kysely
      .updateTable('evaluations')
      .set({ status: 'completed', finished_at: Date.now(), next_attempt: 2 })
      .where('evaluation_id', '=', id)
      .execute();
    await page.locator('.badge.completed').waitFor();
    await page.getByText('2 of 2 attempts', { exact: false }).first().waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL(`${site.url}/evaluations`);
    await page.getByRole('heading', { name: 'No evaluations yet' }).waitFor();
    await page.goto(`${site.url}/evaluations/${id}`);
    await page.getByRole('heading', { name: 'No such evaluation' }).waitFor();
    await page.close();
  });

  it('pauses, resumes, cancels after a question, and runs errors again', async () => {
    const site = await openSite();
    const status = async (id: string) =>
      (
        await site.database.kysely
          .selectFrom('evaluations')
          .select('status')
          .where('evaluation_id', '=', id)
          .executeTakeFirst()
      )?.status;
    const id = await addEvaluation(site.database, {
      ...NIGHTLY,
      status: 'running',
      taskIds: ['a', 'b'],
      attempt: (task) => (task === 0 ? { outcome: 'graded', reward: 1 } : undefined),
    });
    const page = await openAt(site, `/evaluations/${id}`);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('.badge.paused').waitFor();
    expect(await status(id)).toBe('paused');
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.locator('.badge.running').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Leave it' }).click();
    expect(await status(id)).toBe('running');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.locator('.badge.cancelled').waitFor();
    expect(await status(id)).toBe('cancelled');
    const failed = await addEvaluation(site.database, {
      ...NIGHTLY,
      name: 'failed',
      taskIds: ['a'],
      models: ['m'],
      attempts: 1,
      attempt: () => ({ outcome: 'infra_error', rerun: 3 }),
    });
    await page.goto(`${site.url}/evaluations/${failed}`);
    await page.getByRole('button', { name: 'Run 1 error again' }).click();
    await page.locator('.badge.running').waitFor();
    expect(await status(failed)).toBe('running');
    await page.close();
  });

  it('two are compared: the difference with its interval against 0, p, won and lost tasks, and their traces side by side', async () => {
    const site = await openSite();
    const a = await addEvaluation(site.database, { ...NIGHTLY, models: ['m'] });
    const b = await addEvaluation(site.database, {
      ...NIGHTLY,
      name: 'new prompt',
      models: ['m'],
      attempt: (task, model, attempt) =>
        task % 4 === 0 ? { outcome: 'graded', reward: task % 40 === 0 ? 0 : 1 } : attemptOf(task, model, attempt),
    });
    const page = await openAt(site, '/evaluations');
    await page.getByRole('checkbox', { name: /nightly/ }).check();
    await page.getByRole('checkbox', { name: /new prompt/ }).check();
    await page.getByRole('link', { name: 'Compare', exact: true }).click();
    await page.waitForURL(`${site.url}/evaluations/compare?a=${a}&b=${b}`);
    await page.getByRole('heading', { name: /^m: / }).waitFor();
    expect(await page.locator('.comparison-figures').textContent()).toMatch(/B − A\s*[+−]\d\.\d+ \[.*p [=<]/s);
    expect(await page.locator('.difference-figure .interval-mark').count()).toBe(1);
    await page.getByRole('link', { name: /^B lost \d+$/ }).click();
    const first = page.locator('.compared-table tbody tr').first();
    await first.waitFor();
    expect(await first.locator('.number').textContent()).toMatch(/^-/);
    expect(await first.getByRole('link', { name: 'side by side' }).getAttribute('href')).toMatch(
      /^\/compare\?traces=[0-9a-f]{32},[0-9a-f]{32}$/,
    );
    await page.getByRole('link', { name: /^B won \d+$/ }).click();
    await first.locator('.number', { hasText: '+' }).waitFor();
    await page.goto(`${site.url}/evaluations/compare?a=${a}`);
    await page.getByRole('heading', { name: 'A comparison needs two evaluations' }).waitFor();
    await page.goto(`${site.url}/evaluations/compare?a=${a}&b=eval_${'0'.repeat(32)}`);
    await page.getByRole('alert').filter({ hasText: 'There is no evaluation' }).waitFor();
    await page.close();
  });

  it('shows whatever a taskset, a model or a gateway wrote as text, and nothing of it runs', async () => {
    const site = await openSite();
    const planted: MadeUpEvaluation = {
      name: MARKUP,
      tasksetName: MARKUP,
      taskIds: [MARKUP, 'b'],
      models: [MARKUP, 'm'],
      attempts: 1,
      attempt: (_task, model) => ({ outcome: 'graded', reward: model }),
    };
    const id = await addEvaluation(site.database, planted);
    const page = await openAt(site, `/evaluations/${id}`);
    page.on('dialog', () => expect.unreachable('A dialog was opened'));
    await page.locator('.matrix .cell').first().waitFor();
    await page.getByRole('button', { name: MARKUP }).click();
    await page.getByRole('dialog').locator('tbody tr').first().waitFor();
    const compared = new URLSearchParams({ a: id, b: id, a_model: MARKUP, b_model: 'm' });
    for (const path of [undefined, '/evaluations', `/evaluations/compare?${compared}`]) {
      if (path !== undefined) await page.goto(`${site.url}${path}`);
      await page.getByText(MARKUP).first().waitFor();
      expect(await page.locator('main img').count()).toBe(0);
      expect(await page.title()).not.toBe('1');
    }
    await page.close();
  });

  it('opens 100,000 attempts, draws what is seen of them, and reads on where somebody scrolls', async () => {
    const site = await openSite();
    const id = await addEvaluation(site.database, {
      ...NIGHTLY,
      name: 'large',
      taskIds: idsOf(25_000),
      models: ['m'],
      attempt: (task, model, attempt) => ({
        outcome: 'graded',
        reward: (task * 7 + model + attempt) % 3 === 0 ? 1 : 0,
      }),
    });
    const page = await openAt(site, `/evaluations/${id}`);
    await page.locator('.matrix .cell').first().waitFor();
    await page.getByText('100,000 of 100,000 attempts have ended').waitFor();
    expect(await page.locator('.matrix .cell').count()).toBeLessThan(400);
    await page.locator('.matrix').evaluate((grid) => grid.scrollTo(0, 26 * 20_000));
    await page.getByRole('button', { name: 'task-20003' }).waitFor();
    await page.close();
  });

  it('runs of one are filtered by it, and a trace says which attempt of which task it is', async () => {
    const site = await openSite();
    const trace = newTrace({ origin: 'eval' });
    const id = await addEvaluation(site.database, {
      ...NIGHTLY,
      taskIds: ['a', 'b'],
      models: [trace.queued.model],
      attempts: 3,
      attempt: (task, _model, attempt) => ({
        outcome: 'graded',
        reward: 1,
        ...(task === 1 && attempt === 2 ? { traceId: trace.traceId } : {}),
      }),
    });
    const evaluation = { evaluation_id: id, task_id: 'b', attempt_index: 2, rerun: 0, rerun_limit: 3 };
    const events = [started, responded(1), finished(1)];
    await site.addTrace(events, { ...trace, queued: { ...trace.queued, evaluation } });
    await site.addTrace([started, responded(1), finished(1)], newTrace());
    const page = await openAt(site, `/evaluations/${id}`);
    await page.getByRole('link', { name: 'in the list' }).click();
    await page.waitForURL(`${site.url}/?evaluation_id=${id}`);
    await expect.poll(() => page.locator('.table tbody tr').count()).toBe(1);
    expect(await page.getByRole('link', { name: 'attempt 2 of b' }).getAttribute('href')).toBe(`/evaluations/${id}`);
    await page.goto(`${site.url}/traces/${trace.traceId}`);
    const links = page.getByRole('navigation', { name: 'Evaluation' });
    await links.getByText('Attempt 2 of 3 of task b in nightly').waitFor();
    expect(await links.getByRole('link', { name: /Earlier|Later/ }).count()).toBe(2);
    await links.getByRole('link', { name: 'nightly' }).click();
    await page.waitForURL(`${site.url}/evaluations/${id}`);
    await page.close();
  });

  it.each(LOOKS)(
    'axe finds nothing serious in any of them, $colorScheme and $viewport.width wide, and nothing is wider than the window',
    async (look) => {
      const site = await openSite();
      const id = await addEvaluation(site.database, { ...NIGHTLY, taskIds: idsOf(40) });
      const other = await addEvaluation(site.database, { ...NIGHTLY, name: 'other', taskIds: idsOf(30) });
      await addEvaluation(site.database, {
        ...NIGHTLY,
        name: 'paused',
        status: 'paused',
        taskIds: idsOf(6),
        attempt: (task, model, attempt) => (task > 3 ? undefined : attemptOf(task, model, attempt)),
      });
      const page = await openAt(site, '/usage', look);
      for (const [path, ready] of [
        ['/evaluations', '.list-models'],
        [`/evaluations/${id}`, '.distribution'],
        [`/evaluations/compare?a=${id}&b=${other}`, '.compared-table'],
      ] as const) {
        await page.goto(`${site.url}${path}`);
        await page.locator(ready).first().waitFor();
        expect([path, await seriousProblems(page)]).toEqual([path, []]);
        expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
          path,
          look.viewport.width,
        ]);
      }
      await page.close();
    },
  );
});
