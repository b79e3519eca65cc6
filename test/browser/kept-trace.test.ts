import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newTrace, newTraceId } from '../store/traces/events.ts';
import { openSite } from '../web/site.ts';
import { begun, ending, PNG, QUEUED, setUp, steps } from '../web/traces.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused } from './open-trace.ts';

const executablePath = findChromium('test/browser/kept-trace.test.ts');

it('a trace is kept as a file by signed-in browsers of its account alone', async () => {
  const site = await openSite();
  const traceId = await site.addTrace([...begun, setUp, ...steps('none'), ...ending], newTrace(QUEUED));
  const path = `/traces/${traceId}/export`;
  const kept = await site.browse(path, { cookie: await site.signIn() });
  expect([kept.status, kept.headers['content-disposition']]).toEqual([
    200,
    `attachment; filename="trace-${traceId}.html"`,
  ]);
  expect(kept.headers['content-security-policy']).toBe("default-src 'none'; sandbox");
  const statuses = await Promise.all([
    site.browse(path),
    site.request(path),
    site.browse(path, { cookie: await site.signIn('team') }),
    site.browse(`/traces/${newTraceId()}/export`, { cookie: await site.signIn() }),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual([401, 401, 404, 404]);
});

describe.skipIf(executablePath === undefined)('a kept trace, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  it('opens without a server, with its images, and asks nobody for anything', async () => {
    const site = await openSite();
    const traceId = await site.addTrace([...begun, setUp], newTrace(QUEUED));
    const reference = await site.store.putBlob(traceId, Buffer.from(PNG, 'base64'), 'image/png');
    await site.store.append(traceId, 1, [...steps(reference), ...ending]);
    const { text } = await site.browse(`/traces/${traceId}/export`, { cookie: await site.signIn() });
    await site.close();
    const directory = mkdtempSync(join(tmpdir(), 'proctor-kept-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, `trace-${traceId}.html`);
    writeFileSync(file, text);

    const { page, problems, hosts } = await openPage(pathToFileURL(file).href);
    await page.locator('.verdict h2', { hasText: 'Not passed' }).waitFor();
    expect(await page.locator('.big-reward-value').textContent()).toBe('0.625');
    expect(await page.locator('#step-1 .call').count()).toBe(2);
    const sources = await page
      .locator('#step-3 img')
      .evaluateAll((images) => images.map((image) => image.getAttribute('src')));
    expect(sources.filter((source) => source === `data:image/png;base64,${PNG}`).length).toBeGreaterThan(1);
    await page.keyboard.press('/');
    await page.keyboard.type('notify_warehouse');
    await page.locator('#step-3 mark').first().waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('e');
    await page.waitForFunction(() => location.hash === '#step-1');
    expect([problems, [...hosts]]).toEqual([[], ['']]);
    await page.close();
  });
});
