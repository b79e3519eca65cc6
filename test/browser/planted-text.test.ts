import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventBody } from '../../src/contract/service/event.ts';
import { checked, finding, reportOf, save } from '../evaluation/checks/reports.ts';
import { newTrace } from '../store/traces/events.ts';
import { plant } from '../web/planted.ts';
import { shopTarget } from '../web/shop-environment.ts';
import { openSite } from '../web/site.ts';
import { begun, ending, failedInSetup, QUEUED, setUp, steps } from '../web/traces.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused, signedIn } from './open-trace.ts';

const executablePath = findChromium('test/browser/planted-text.test.ts');

const WHOLE: readonly EventBody[] = [...begun, setUp, ...steps('none'), ...ending];

/** Everything that a page is made of; a planted element would be another one. */
const ELEMENTS = new Set(
  (
    'a article body button caption circle code dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 head header ' +
    'html img input kbd label legend li link main mark meta nav noscript ol option p path pre rect script section select span strong ' +
    'style summary svg table tbody td textarea th thead title tr ul datalist'
  ).split(' '),
);

/** The document as the browser has it: its elements, where its links lead, its text, and whether anything ran. */
async function inspect(page: Page) {
  return await page.evaluate(() => {
    const elements = [...document.querySelectorAll('*')];
    const text = document.body.textContent ?? '';
    const attributes = elements.flatMap((element) => [...element.attributes]);
    return {
      names: [...new Set(elements.map(({ localName }) => localName))],
      scripts: document.querySelectorAll('script[src], script:not([type])').length,
      handlers: attributes.filter(({ name }) => name.startsWith('on')).length,
      addresses: attributes
        .filter(({ name }) => ['href', 'src', 'action', 'formaction', 'xlink:href'].includes(name))
        .map(({ value }) => value),
      hidden: /(?![\t\n\r\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.exec(
        // The text of the scripts and of the data of a kept trace is not shown.
        elements
          .filter(({ localName }) => !['script', 'style', 'html', 'body', 'head', 'noscript'].includes(localName))
          .flatMap((element) => [...element.childNodes])
          .filter(({ nodeType }) => nodeType === 3)
          .map(({ textContent }) => textContent)
          .join(''),
      )?.[0],
      plantedTimes: text.split('<script>alert(1)</script>').length - 1,
      isNamed: text.includes('exe.[U+202E]gnp.[U+200B][U+2066]hidden[U+2069][U+E0041]'),
      title: document.title,
    };
  });
}

const ADDRESS =
  /^(\/|\/\?.*|#[\w-]+|\?(cursor=.*|sort=(reward|tokens|duration))?|\/assets\/app-[\w-]+\.(js|css)|\/traces\/[0-9a-f]{32}(\/export)?|\/environments(\/shop)?|\/(evaluations|training|models)|\/checks(\/check_[0-9a-f]{32})?|\/usage(\?by=\w+&days=\w+)?|\/v1\/traces\/[0-9a-f]{32}(\?format=(atif|inspect))?|\/v1\/blobs\/[0-9a-f]{64}|data:image\/(png;base64,[A-Za-z0-9+/=]+|svg\+xml,[^<>"' ]+))$/;

function openEverything(): void {
  for (const details of document.querySelectorAll('details')) details.open = true;
}

async function expectText(page: Page, scripts: number): Promise<void> {
  await page.evaluate(openEverything);
  const found = await inspect(page);
  expect(found.names.filter((name) => !ELEMENTS.has(name))).toEqual([]);
  expect(found.addresses.filter((address) => !ADDRESS.test(address))).toEqual([]);
  expect({ ...found, names: 0, addresses: 0, plantedTimes: 0, title: '' }).toMatchObject({
    scripts,
    handlers: 0,
    hidden: undefined,
  });
  expect(found.title).not.toMatch(/[\u202e\u200b]/);
}

describe.skipIf(executablePath === undefined)('planted text, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  it('never becomes markup, script or an address, in whatever field it is', async () => {
    const site = await openSite();
    const bodies = [plant(WHOLE), plant([...begun, setUp, ...steps('none')]), plant(failedInSetup())];
    const ids = await Promise.all(bodies.map((each) => site.addTrace(each, newTrace(plant(QUEUED)))));
    const host = new URL(site.url).host;
    for (const path of [...ids.map((id) => `/traces/${id}`), '/']) {
      const { page, problems, hosts } = await openPage(await signedIn(site, path));
      page.on('dialog', () => expect.unreachable('A dialog was opened'));
      await page.locator(path === '/' ? '.table' : '.verdict').waitFor();
      await expectText(page, 1);
      expect([path, problems, [...hosts]]).toEqual([path, [], [host]]);
      await page.close();
    }
  });

  it('never does in what an environment says of itself, its tools and its scenarios, nor in a form or in usage', async () => {
    const shop = shopTarget((words) => `${words}${plant('')}`);
    const site = await openSite({ service: { environments: new Map([['shop', shop]]) } });
    const run = { ...QUEUED, env_name: 'shop', scenario_name: 'order' };
    await site.addTrace(plant(WHOLE), newTrace({ ...plant(QUEUED), ...run, model: plant('any model') }));
    const report = reportOf(plant(checked({ findings: [finding({ trace_id: null })] })), checked({ name: 'shop' }));
    const checkId = await save(site.database, report);
    const host = new URL(site.url).host;
    const pages = [
      { path: '/environments', ready: '.environment-list', least: 1 },
      { path: '/environments/shop', ready: '.tool-entry', least: 12 },
      { path: '/checks', ready: '.table', least: 0 },
      { path: `/checks/${checkId}`, ready: '.check-finding', least: 3 },
      { path: '/usage?by=model', ready: '.table', least: 1 },
    ];
    for (const { path, ready, least } of pages) {
      const { page, problems, hosts } = await openPage(await signedIn(site, '/'));
      await page.goto(new URL(path, site.url).href);
      page.on('dialog', () => expect.unreachable('A dialog was opened'));
      await page.locator(ready).first().waitFor();
      if (path === '/environments/shop') await page.locator('.reward-bar').first().waitFor();
      await expectText(page, 1);
      // Its name is another one once it is open.
      if (path === '/environments/shop') await page.getByRole('button', { name: 'Start a run' }).first().click();
      await expectText(page, 1);
      expect([path, (await inspect(page)).plantedTimes >= least]).toEqual([path, true]);
      expect([path, problems, [...hosts]]).toEqual([path, [], [host]]);
      await page.close();
    }
  });

  it('is shown all the same, by characters that can be seen', async () => {
    const site = await openSite();
    const { page } = await openPage(
      await signedIn(site, `/traces/${await site.addTrace(plant(WHOLE), newTrace(plant(QUEUED)))}`),
    );
    await page.locator('.verdict').waitFor();
    const { plantedTimes, isNamed } = await inspect(page);
    expect(plantedTimes).toBeGreaterThan(40);
    expect(isNamed).toBe(true);
    await page.close();
  });

  it('stays text in a kept file, too', async () => {
    const site = await openSite();
    const traceId = await site.addTrace(plant(WHOLE), newTrace(plant(QUEUED)));
    const reply = await site.browse(`/traces/${traceId}/export`, { cookie: await site.signIn() });
    const directory = mkdtempSync(join(tmpdir(), 'proctor-kept-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, 'trace.html');
    writeFileSync(file, reply.text);
    const { page, problems, hosts } = await openPage(pathToFileURL(file).href);
    await page.locator('.verdict').waitFor();
    await expectText(page, 1);
    expect([problems, [...hosts]]).toEqual([[], ['']]);
    await page.close();
  });
});
