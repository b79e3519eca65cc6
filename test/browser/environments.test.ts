import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { inMemory } from '../../src/environment/server/in-memory.ts';
import { EnvironmentServer } from '../../src/index.ts';
import { BROKEN as BROKEN_TARGET, COUNTER } from '../service/runs/service.ts';
import { finished, newTrace, started } from '../store/traces/events.ts';
import { WRONG_ANSWER } from '../web/failed-traces.ts';
import { shopTarget } from '../web/shop-environment.ts';
import { openSite } from '../web/site.ts';
import { findChromium, useChromium } from './chromium.ts';
import { openPlayground, PATIENCE } from './open-playground.ts';
import { isRefused, signedIn } from './open-trace.ts';

const executablePath = findChromium('test/browser/environments.test.ts');

const SHOP = { environments: new Map([['shop', shopTarget()]]) };

/** What the cells of a table say, row by row. */
async function cellsOf(table: Locator): Promise<readonly (readonly string[])[]> {
  const rows = await table.locator('tbody tr').all();
  return await Promise.all(rows.map((row) => row.locator('th, td').allInnerTexts()));
}

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
    expect(await scenario.getByLabel('target').evaluate((field) => field === document.activeElement)).toBe(true);
    await scenario.getByLabel('target').fill('-1');
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

  it('draw what a tool takes when it is opened, where there are thousands of them', async () => {
    const create = () => {
      const many = new EnvironmentServer({ name: 'many', version: '1.0.0' });
      const args = { type: 'object', properties: { amount: { type: 'integer' } } };
      for (let index = 0; index < 1_000; index++) many.tool(`tool_${index}`, { args }, () => 1);
      return many;
    };
    const site = await openSite({
      service: { environments: new Map([['many', inMemory(create)]]) },
    });
    const { page } = await openPage(await signedIn(site, '/environments/many'));
    await page.locator('.tool-entry').last().waitFor();
    expect(await page.locator('.tool-entry').count()).toBe(1_000);
    expect(await page.locator('.tool-body').count()).toBe(0);
    await page.getByText('tool_7', { exact: true }).click();
    await page.locator('.tool-body').getByText('amount').first().waitFor();
    expect(await page.locator('.tool-body').count()).toBe(1);
    await page.close();
  });

  it('show the tools as an agent is offered them, arguments with what is in them, result and schema, and none of the harness', async () => {
    const site = await openSite({ service: SHOP });
    const { page, problems } = await openPage(await signedIn(site, '/environments/shop'));
    await page.getByText('A shop with one counter. Version 2.1.0').waitFor();
    const tool = page.locator('.tool-entry', { hasText: 'place_order' });
    await tool.waitFor();
    expect(await page.locator('.tool-name').allTextContents()).toEqual(['place_order', 'look']);
    expect(await tool.locator('summary').first().textContent()).toMatch(
      /Place an order[\s\S]*may destroy\s*closed world/,
    );
    await tool.locator('pre', { hasText: 'It cannot be taken back.' }).waitFor();
    expect(await cellsOf(page.getByRole('table', { name: 'Arguments of place_order' }))).toEqual([
      [
        expect.stringMatching(/^sku\s*required$/),
        'string',
        '–',
        expect.stringMatching(/^What to order\.\s*"tea"\s*"milk \(whole\)"$/),
      ],
      ['address', 'object', '–', 'Where it goes.'],
      [expect.stringMatching(/^address\.street\s*required$/), 'string', '–', 'not empty'],
      ['address.floor', 'integer or null', '–', 'at most 9'],
      ['items', 'array of object', '–', ''],
      ['items[].count', 'integer', '1', ''],
    ]);
    const result = page.getByRole('table', { name: 'Result of place_order' });
    expect(await cellsOf(result)).toEqual([['number', 'integer', '–', 'Of the order.']]);
    const json = tool.locator('.more', { hasText: 'Arguments of place_order' });
    expect(await json.locator('.json').isVisible()).toBe(false);
    await json.locator('summary').click();
    expect(await json.locator('.json').textContent()).toContain('"tea"');
    expect(await page.locator('main').textContent()).not.toMatch(/audit|stock|setup|evaluate|solution/);
    expect(problems).toEqual([]);
    await page.close();
  });

  it('have a form for every kind of argument, which tells what is wrong and sends what the scenario takes', async () => {
    const site = await openSite({ service: { ...SHOP, worker: {} } });
    const { page } = await openPage(await signedIn(site, '/environments/shop'));
    const scenario = page.getByRole('article', { name: 'order' });
    await scenario.getByRole('button', { name: 'Start a run' }).click();
    const field = (name: string) => scenario.getByLabel(new RegExp(`^${name}`));
    const start = scenario.getByRole('button', { name: 'Start', exact: true });
    const problemOf = (name: string) =>
      scenario.locator('.field', { has: page.getByLabel(new RegExp(`^${name}`)) }).getByRole('alert');
    expect(await Promise.all(['count', 'size', 'tags'].map((name) => field(name).inputValue()))).toEqual([
      '2',
      'small',
      '[\n  "new"\n]',
    ]);
    await field('customer').fill('Ada');
    await field('count').fill('many');
    await field('tags').fill('{');
    await field('address').fill('[]');
    await start.click();
    await problemOf('isUrgent').filter({ hasText: 'This is required.' }).waitFor();
    await problemOf('count').filter({ hasText: 'This has to be a number.' }).waitFor();
    await problemOf('tags').filter({ hasText: 'This has to be JSON' }).waitFor();
    await problemOf('address').filter({ hasText: 'This has to be an object' }).waitFor();
    await field('count').fill('7');
    await field('isUrgent').selectOption('true');
    await field('size').selectOption('large!');
    await field('tags').fill('["a", "b"]');
    await field('address').fill('{"street": "Mill Lane"}');
    await start.click();
    await problemOf('count').filter({ hasText: '5' }).waitFor();
    await field('count').fill('3');
    await start.click();
    await page.waitForURL(/\/traces\/[0-9a-f]{32}$/);
    await page.locator('.verdict h2', { hasText: 'Not passed: the evaluation gave 0.5' }).waitFor();
    const traceId = String(page.url().split('/').at(-1));
    expect((await site.ended(traceId)).scenario_args).toEqual({
      customer: 'Ada',
      count: 3,
      isUrgent: true,
      size: 'large!',
      tags: ['a', 'b'],
      address: { street: 'Mill Lane' },
    });
    await page.close();
  });

  it('start several runs at once with what proctor run takes, and go to the list of them', async () => {
    const site = await openSite({ service: SHOP });
    const { page, problems } = await openPage(await signedIn(site, '/environments/shop'));
    const scenario = page.getByRole('article', { name: 'order' });
    await scenario.getByRole('button', { name: 'Start a run' }).click();
    const field = (name: string) => scenario.getByLabel(new RegExp(`^${name}`));
    const start = scenario.getByRole('button', { name: 'Start', exact: true });
    await field('customer').fill('Ada');
    await field('isUrgent').selectOption('true');
    await field('Runs').fill('101');
    await scenario.getByText('Metadata, sampling, seed and timeout').click();
    await field('Metadata').fill('team=search\nnothing');
    await field('Temperature').fill('hot');
    await start.click();
    for (const text of ['from 1 to 100', 'key=value, such as', 'This has to be a number.']) {
      await scenario.getByRole('alert').filter({ hasText: text }).waitFor();
    }
    expect(await site.countRuns()).toBe(0);
    await field('Runs').fill('3');
    await field('Metadata').fill('team=search\n note = a=b ');
    await field('Temperature').fill('0.7');
    await field('Sampling').fill('{"top_p": 0.9}');
    await field('Seed').fill('7');
    await field('Timeout').fill('0');
    await start.click();
    await scenario.getByRole('alert').filter({ hasText: 'timeout_seconds' }).waitFor();
    await field('Timeout').fill('60');
    await start.click();
    await page.waitForURL(/\/\?metadata\.batch=\w+$/);
    await expect.poll(() => page.locator('.table tbody tr').count()).toBe(3);
    const { data } = await site.store.list({});
    const batch = new URL(page.url()).searchParams.get('metadata.batch');
    for (const { metadata, sampling, seed } of data) {
      expect({ metadata, sampling, seed }).toEqual({
        metadata: { team: 'search', note: 'a=b', batch },
        sampling: { temperature: 0.7, top_p: 0.9 },
        seed: 7,
      });
    }
    expect(problems).toEqual([]);
    await page.close();
  });

  it('show the rewards of the last runs of each scenario, and lead to them', async () => {
    const site = await openSite({ service: { ...SHOP, worker: {} } });
    const traceIds: string[] = [];
    for (const isUrgent of [true, false]) {
      const reply = await site.run({
        env_name: 'shop',
        scenario_name: 'order',
        scenario_args: { customer: 'Ada', isUrgent },
      });
      traceIds.push((reply.json as { trace_id: string }).trace_id);
      await site.ended(String(traceIds.at(-1)));
    }
    const { page } = await openPage(await signedIn(site, '/environments/shop'));
    const order = page.getByRole('article', { name: 'order' });
    const bars = order.getByRole('list', { name: /^Rewards of the last runs/ }).getByRole('link');
    await bars.nth(1).waitFor();
    expect(
      await bars.evaluateAll((links) => links.map((link) => link.getAttribute('aria-label')?.slice(0, 10))),
    ).toEqual(['reward 0.5', 'reward 1, ']);
    await order.getByRole('row', { name: 'proctor/oracle 50 % passed mean 0.75 2 runs' }).waitFor();
    await page.getByRole('article', { name: 'wait' }).getByText('No runs yet').waitFor();
    await bars.first().click();
    await page.waitForURL(`**/traces/${traceIds[0]}`);
    await page.close();
  });

  it('tell the pass rate by model, reference models apart, and of how many runs each has a reward', async () => {
    const site = await openSite({ service: SHOP });
    const add = async (model: string, reward: number | null) => {
      const end = reward === null ? finished(null, { status: 'failed', stop_reason: 'error' }) : finished(reward);
      await site.addTrace([started, end], newTrace({ env_name: 'shop', scenario_name: 'order', model }));
    };
    for (const reward of [1, 1, 1]) await add('proctor/oracle', reward);
    for (const reward of [1, 0, 0.5, null]) await add('qwen', reward);
    const { page, problems } = await openPage(await signedIn(site, '/environments/shop'));
    const order = page.getByRole('article', { name: 'order' });
    const models = order.getByRole('table', { name: 'Models', exact: true });
    await models.waitFor();
    expect(await cellsOf(models)).toEqual([['qwen', '33 % passed', 'mean 0.5', '4 runs, 1 without a reward']]);
    expect(await cellsOf(order.getByRole('table', { name: 'Reference models' }))).toEqual([
      ['proctor/oracle', '100 % passed', 'mean 1', '3 runs'],
    ]);
    await models.getByRole('link', { name: 'qwen' }).click();
    await page.waitForURL('**/?env_name=shop&scenario_name=order&model=qwen');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('lead to the playground from everywhere, to a scenario of it too, where one is served beside the pages', async () => {
    const playground = await openPlayground();
    const port = Number(new URL(playground.url).port);
    let pages = 0;
    const site = await openSite({ service: SHOP, ports: () => ({ pages, playground: port }) });
    pages = site.port;
    const { page, problems } = await openPage(await signedIn(site, '/environments/shop'));
    const order = page.getByRole('article', { name: 'order' });
    const talk = order.getByRole('link', { name: 'Talk to it' });
    expect(await talk.getAttribute('href')).toBe(`${playground.url}/?scenario=shop%3Aorder`);
    const nav = page.getByRole('navigation', { name: 'Pages' });
    expect(await nav.getByRole('link', { name: 'Playground' }).getAttribute('href')).toBe(`${playground.url}/`);
    expect(problems).toEqual([]);

    pages = 1; // As behind a proxy: the way to the other port is not known.
    await page.goto(`${site.url}/environments/shop`);
    await order.getByRole('button', { name: 'Start a run' }).waitFor();
    expect([await talk.count(), await nav.getByRole('link', { name: 'Playground' }).count()]).toEqual([0, 0]);

    await page.goto(playground.address);
    await page.goto(`${playground.url}/?scenario=counter:fail_later`);
    await page.locator('#choices').waitFor();
    const names = await page
      .locator('#scenario option')
      .evaluateAll((all) => all.map((each) => each.getAttribute('value')));
    const last = names.at(-1) ?? '';
    await page.goto(`${playground.url}/?scenario=${last}`);
    await page.locator('#choices').waitFor();
    expect([names.length > 1, await page.locator('#scenario').inputValue()]).toEqual([true, last]);
    await page.close();
  });

  it('on a narrow screen have cards for the last runs, and nothing that has to be scrolled aside', async () => {
    const site = await openSite({ service: SHOP });
    const trace = newTrace({ env_name: 'shop', scenario_name: 'order', model: 'a-model-with-quite-a-long-name' });
    await site.addTrace([started, finished(0.5)], trace);
    const { page } = await openPage(await signedIn(site, '/environments/shop'), {
      viewport: { width: 390, height: 844 },
    });
    const row = page.getByRole('region', { name: 'Recent runs' }).locator('tbody tr');
    await row.getByText('a-model-with-quite-a-long-name').waitFor();
    const widths = await page.evaluate(() =>
      [document.documentElement, ...document.querySelectorAll('.table-scroll')].map((each) => [
        each.scrollWidth,
        each.clientWidth,
      ]),
    );
    for (const [inner, outer] of widths) expect(inner).toBe(outer);
    const boxes = await Promise.all(
      ['reward', 'status', 'model', 'took'].map((name) => row.locator(`[data-column="${name}"]`).boundingBox()),
    );
    for (const box of boxes) expect((box?.x ?? 999) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
    await page.close();
  });

  it('say of one that cannot be started why, once, and try again', async () => {
    const environments = new Map([
      ['broken', BROKEN_TARGET],
      ['counter', COUNTER],
    ]);
    const site = await openSite({ service: { environments } });
    const { page } = await openPage(await signedIn(site, '/environments'));
    await page
      .getByRole('link', { name: /broken/ })
      .filter({ hasText: /cannot be loaded|exited/ })
      .click();
    const alert = page.getByRole('alert').filter({ hasText: /cannot be loaded|exited/ });
    await alert.waitFor();
    expect(await page.getByRole('alert').count()).toBe(1);
    await alert.getByRole('button', { name: 'Try again' }).click();
    await alert.waitFor();
    await page.close();
  });

  it('tell what was used by day, model and key, and since when', async () => {
    const site = await openSite();
    const { id } = await site.accounts.createKey({ name: 'nightly' });
    const trace = (model: string, keyId: string | null) => ({ ...newTrace({ ...WRONG_ANSWER.queued, model }), keyId });
    await site.addTrace(WRONG_ANSWER.bodies, trace('alpha', id));
    await site.addTrace(WRONG_ANSWER.bodies, trace('alpha', null));
    await site.addTrace(WRONG_ANSWER.bodies, trace('beta', id));
    const { page } = await openPage(await signedIn(site, '/usage'));
    const rows = async () => (await cellsOf(page.getByRole('table'))).map((cells) => [cells[0], cells[1], cells[4]]);
    const tokens = 3 * 10_566;
    const counted = (number: number) => number.toLocaleString('en-US');
    await page.locator('.usage-figure', { hasText: counted(tokens) }).waitFor();
    expect(await rows()).toEqual([[expect.stringMatching(/^\d{4}-\d\d-\d\d$/), counted(tokens), '3']]);
    await page.getByRole('link', { name: 'Model', exact: true }).click();
    await page.getByRole('cell', { name: 'alpha' }).waitFor();
    expect(await rows()).toEqual([
      ['alpha', counted(2 * 10_566), '2'],
      ['beta', counted(10_566), '1'],
    ]);
    await page.getByRole('link', { name: 'API key' }).click();
    await page.getByRole('cell', { name: 'nightly' }).waitFor();
    expect(await rows()).toEqual([
      ['nightly', counted(2 * 10_566), '2'],
      ['without a key', counted(10_566), '1'],
    ]);
    await page.getByRole('link', { name: '7 days' }).click();
    await page.waitForURL('**/usage?by=key&days=7');
    await page.getByRole('cell', { name: 'nightly' }).waitFor();
    await page.close();
  });
});
