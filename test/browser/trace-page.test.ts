import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EventBody } from '../../src/contract/service/event.ts';
import { newTrace } from '../store/traces/events.ts';
import { BROKEN, BROWSING, CODING } from '../web/example-traces.ts';
import { longTrace } from '../web/long-trace.ts';
import { openSite } from '../web/site.ts';
import { begun, ending, failedInSetup, PNG, QUEUED, setUp, steps } from '../web/traces.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { addTraceTo, isRefused, openSiteWith, signedIn } from './open-trace.ts';

const executablePath = findChromium('test/browser/trace-page.test.ts');

const WHOLE = [...begun, setUp, ...steps('none'), ...ending];

async function textOf(page: Page, selector: string): Promise<string> {
  return String(await page.locator(selector).first().textContent());
}

async function expectTexts(page: Page, selector: string, texts: readonly string[]): Promise<void> {
  const shown = String(await page.locator(selector).first().textContent());
  expect(texts.filter((text) => !shown.includes(text))).toEqual([]);
}

/** Where a link leads to: the upper part of what is seen, or as near to it as the end of the page lets it. */
const isAtTop = (page: Page, id: string) =>
  page.waitForFunction((wanted) => {
    const top = document.getElementById(wanted)?.getBoundingClientRect().top ?? -1;
    const isAtEnd = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    return top >= 0 && top < (isAtEnd ? innerHeight - 40 : 200);
  }, id);

describe.skipIf(executablePath === undefined)('the page of a trace, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  async function open(bodies: readonly EventBody[], queued = QUEUED) {
    const { site, address } = await openSiteWith(bodies, queued);
    return { site, ...(await openAt(address)) };
  }

  async function openAt(address: string) {
    const opened = await openPage(address);
    onTestFinished(async () => {
      await opened.page.close();
      expect([opened.problems, [...opened.hosts]]).toEqual([[], [new URL(address).host]]);
    });
    await opened.page.locator('.trace').waitFor();
    return opened;
  }

  it('says first why a run failed: where, in which words, what was going on, and what was logged last', async () => {
    const { page } = await open(BROKEN.bodies, BROKEN.queued);
    await expectTexts(page, '.verdict', [
      'Failed in the environment',
      'environment_failed',
      'ended with signal SIGABRT while run_command was running',
      'When it ended, run_command had no result yet',
      'Reached heap limit',
    ]);
    const [verdict, transcript] = await Promise.all(
      ['.verdict', '.transcript'].map(async (part) => (await page.locator(part).boundingBox())?.y ?? 0),
    );
    expect(verdict).toBeLessThan(transcript ?? 0);
    expect(verdict).toBeLessThan(450);
    await page.locator('.verdict .place', { hasText: 'step 2' }).click();
    await isAtTop(page, 'step-2');
    expect(new URL(page.url()).hash).toBe('#step-2');
  });

  it('says of a run that did not pass what the evaluation gave, for what, and what went wrong on the way', async () => {
    const { page } = await open(WHOLE);
    await expectTexts(page, '.verdict', [
      'Not passed: the evaluation gave 0.625',
      'One of two items was exchanged for the right one.',
      'right items',
      'right owner',
      '2 tool calls failed; the last, exchange_items, says',
      'Arguments that are not a JSON object',
    ]);
    expect(await textOf(page, '.big-reward')).toBe('0.625reward');
  });

  it('says of a run that failed before its scenario was set up what the environment had said', async () => {
    const { page } = await open(failedInSetup('no such order'));
    await expectTexts(page, '.verdict', [
      'Failed in the setup of the scenario',
      'no such order',
      'orders.json: no such file',
    ]);
  });

  it('keeps the evaluation of a failed run apart from its reward', async () => {
    const failed: EventBody = {
      type: 'run.finished',
      status: 'failed',
      stop_reason: 'error',
      reward: null,
      error: { boundary: 'model', code: 'model_failed', message: 'The gateway answered 401: wrong key' },
    };
    const { page } = await open([...WHOLE.slice(0, -1), failed]);
    expect(await textOf(page, '.big-reward')).toBe('–reward');
    await expectTexts(page, '.verdict', ['Failed at the model', 'wrong key', 'evaluated all the same: 0.625']);
  });

  it('names a call that was made again and again, and a run without an answer in time', async () => {
    const { page } = await open(BROWSING.bodies, BROWSING.queued);
    await expectTexts(page, '.verdict', ['Out of steps: no answer after all 4 of them', 'No order was placed.']);
    const step = longTrace(1).slice(4, 9);
    const again = [1, 2, 3].flatMap((number) =>
      step.map((body) => ('step' in body ? { ...body, step: number } : body)),
    );
    const looped = await open([...begun, setUp, ...again, ...ending.slice(2)]);
    await expectTexts(looped.page, '.verdict', ['read_file was called 3 times with the same arguments']);
  });

  it('shows what was asked, what was used, how long it took, and with what', async () => {
    const { page } = await open(WHOLE);
    await expectTexts(page, '.trace-header', [
      'desk / exchange',
      'completed',
      'gpt-5-mini',
      '"order_id":"#W2378156"',
      'Steps4 of 30',
      'Tool calls4',
      'Tokens in8,330 512 cached',
      'Tokens out848 256 reasoning',
      'Cost$0.017',
    ]);
    await page.locator('.details-panel summary').click();
    await expectTexts(page, '.details-panel', [
      'desk 2.4.1',
      '2025-11-25',
      'ab'.repeat(32),
      'Seed7',
      'temperature',
      'c0ffee',
    ]);
    await expectTexts(page, '.time-bar figcaption', ['Model 6.6 s', 'Tools 31 ms', 'Environment 164 ms']);
  });

  it('shows what the model was given, and every step: text, reasoning, refusal, calls with results, errors, logs', async () => {
    const refused: EventBody = {
      ...(ending[1] as Extract<EventBody, { type: 'model.responded' }>),
      message: { role: 'assistant', content: null, reasoning: null, refusal: 'I will not do that.', tool_calls: [] },
    };
    const { page } = await open([...begun, setUp, ...steps('none'), refused, ...ending.slice(2)]);
    for (const summary of await page.locator('#prompt summary').all()) await summary.click();
    await expectTexts(page, '#prompt', [
      'Never give a refund without an order number.',
      'I want to exchange two items.',
      'Here is a photograph of the damage.',
      'Finds an order by its number.',
      'resolution',
    ]);
    await expectTexts(page, '#step-1', [
      '1.6 s · 2,149 tokens · 2 retries',
      'The order comes first, then its owner.',
      'I will look that up.',
      '"#W2378156"',
      'delivered',
      'No user has this address.',
      'The stock list is 3 days old.',
    ]);
    expect(await page.locator('#step-1 .call').count()).toBe(2);
    expect(await page.locator('#step-1 .call.failed .call-name').allInnerTexts()).toEqual(['find_user']);
    await expectTexts(page, '#step-2', ['Not a JSON object', '{"order_id": "#W2378156", "items": [1, 2']);
    await expectTexts(page, '#step-3', [
      'desk://photographs/1',
      'the second shelf',
      'notify_warehouse',
      'never called',
    ]);
    await expectTexts(page, '#step-4', ['I will not do that.']);
    await expectTexts(page, '#answer', ['resolution', 'exchanged']);
    await expectTexts(page, '#evaluation', ['0.625', 'right items', '× 3', 'orders/#W2378156']);
    // A structured result is shown once, though it was sent as text too.
    expect((await textOf(page, '#step-1')).split('delivered')).toHaveLength(2);
    expect(await page.locator('.transcript a[href^="desk"]').count()).toBe(0);
  });

  it('shows edits as what was removed and added, and code as code', async () => {
    const { page } = await open(CODING.bodies, CODING.queued);
    expect(await page.locator('#step-3 .diff-line.removed').allInnerTexts()).toEqual([
      expect.stringContaining('return this.#items.pop();'),
    ]);
    expect(await page.locator('#step-3 .diff-line.added').count()).toBe(5);
    await expectTexts(page, '#step-1 .code', ['npm test --silent -- --reporter=verbose']);
  });

  it('folds what earlier attempts did, and tells how they ended', async () => {
    const site = await openSite();
    const traceId = await site.addTrace([...begun, setUp, ...steps('none')], newTrace(QUEUED));
    const error = { boundary: 'environment' as const, code: 'environment_failed', message: 'Its host was killed.' };
    await site.store.startNextAttempt(traceId, 1, 'lost', undefined, error);
    await site.store.append(traceId, 2, WHOLE);
    const { page } = await openAt(await signedIn(site, `/traces/${traceId}`));
    const why = 'Attempt 1 was lost after 3 steps (worker_1): it began anew. Its host was killed.';
    await expectTexts(page, '.verdict', [why]);
    expect(await page.locator('#step-1').count()).toBe(0);
    await page.locator('#attempt-1 summary').first().click();
    await page.locator('#attempt-1 #step-1').waitFor();
    await expectTexts(page, '#attempt-1', ['Its host was killed.']);
    await expectTexts(page, '#attempt-2-step-1', ['I will look that up.']);
  });

  it('shows the messages of every turn of a session with several', async () => {
    const { page } = await open([
      ...begun,
      setUp,
      ...steps('none'),
      { type: 'turn.finished', turn: 1, status: 'answered', tool_ms: 1 },
      { type: 'turn.started', turn: 2, messages: [{ role: 'user', content: 'And the second one?' }] },
      { type: 'model.requested', turn: 2, step: 4 },
    ]);
    await expectTexts(page, '#turn-2', ['And the second one?']);
  });

  it('leaves kinds of events out, and shows them again', async () => {
    const { page } = await open(WHOLE);
    const kinds = { Reasoning: '.reasoning', Tools: '.call', Logs: '.logs', Prompt: '.setup', Images: '.picture' };
    for (const [name, selector] of Object.entries(kinds)) {
      const before = await page.locator(selector).count();
      expect([name, before > 0]).toEqual([name, true]);
      const chip = page.getByRole('button', { name, exact: true });
      await chip.click();
      expect([name, await page.locator(selector).count()]).toEqual([name, 0]);
      expect(await chip.getAttribute('aria-pressed')).toBe('false');
      await chip.click();
      expect(await page.locator(selector).count()).toBe(before);
    }
  });

  it('finds a text wherever it is, folded too, marks it and goes there', async () => {
    const { page } = await open(CODING.bodies, CODING.queued);
    await page.keyboard.press('/');
    await page.keyboard.type('AssertionError');
    await page.locator('.search-count', { hasText: 'in 1' }).waitFor();
    await page.keyboard.press('Enter');
    await isAtTop(page, 'step-1');
    expect(await page.locator('#step-1 mark').allInnerTexts()).toEqual(['AssertionError']);
    await page.locator('.search input').fill('checkout of a small');
    await page.locator('#prompt mark').waitFor();
    expect(await page.locator('#prompt details').first().getAttribute('open')).not.toBeNull();
    await page.locator('.search input').fill('nothing has this');
    await page.getByText('nothing found').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.locator('.search input').inputValue()).toBe('');
    expect(await page.locator('mark').count()).toBe(0);
  });

  it('goes from step to step by the keys j and k, to errors by e, and tells its keys by ?', async () => {
    const { page } = await open(CODING.bodies, CODING.queued);
    for (const [key, id] of [
      ['j', 'prompt'],
      ['j', 'step-1'],
      ['j', 'step-2'],
      ['k', 'step-1'],
      ['G', 'evaluation'],
      ['e', 'step-1'],
    ] as const) {
      await page.keyboard.press(key);
      await page.waitForFunction((hash) => location.hash === hash, `#${id}`);
    }
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('j');
    expect(new URL(page.url()).hash).toBe('#step-1');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('opens at the step that its address names, and leads to steps from the list and the time bar', async () => {
    const { site, page } = await open(longTrace(60));
    const { pathname } = new URL(page.url());
    await page.goto(`${site.url}${pathname}#step-41`);
    await page.reload();
    await isAtTop(page, 'step-41');
    await page.locator('.outline a[aria-current]', { hasText: '41' }).waitFor();
    await page.locator('.outline a', { hasText: /^44/ }).click();
    await isAtTop(page, 'step-44');
    await page.locator('.time-bar rect.is-link').first().dispatchEvent('click');
    await page.waitForFunction(() => !location.hash.startsWith('#step-44'));
  });

  it('draws of a long trace what is near to what is seen, and has anchors for all of it', async () => {
    const { page } = await open(longTrace(500));
    await page.locator('#step-500').waitFor({ state: 'attached' });
    expect(await page.locator('.transcript > section').count()).toBe(504);
    expect(await page.locator('.call').count()).toBeLessThan(60);
    await page.keyboard.press('/');
    await page.keyboard.type('needle-477');
    await page.locator('.search-count', { hasText: 'in 1' }).waitFor();
    await page.keyboard.press('Enter');
    await isAtTop(page, 'step-477');
    await page.locator('#step-477 mark').first().waitFor();
    expect(await page.locator('.call').count()).toBeLessThan(120);
  });

  it('folds JSON, and copies it as it was', async () => {
    const { site, page } = await open(CODING.bodies, CODING.queued);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: site.url });
    const info = page.locator('#evaluation .json');
    await info.locator('.json-fold', { hasText: 'hidden_tests' }).click();
    expect(await info.textContent()).toContain('hidden_tests: { 3 fields }');
    await info.hover();
    await info.getByRole('button', { name: 'Copy the JSON' }).click();
    const copied: string = await page.evaluate(() => navigator.clipboard.readText());
    expect(JSON.parse(copied)).toMatchObject({ tests_untouched: true, hidden_tests: { passed: 2 } });
  });

  it('gives the raw JSON, as a page and as a file', async () => {
    const { site, page } = await open(WHOLE);
    const [, traceId] = /traces\/([0-9a-f]{32})/.exec(page.url()) ?? [];
    const link = page.getByRole('link', { name: 'JSON' });
    expect(await link.getAttribute('href')).toBe(`/v1/traces/${traceId}`);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe(`trace-${traceId}.json`);
    expect(new URL(download.url()).origin).toBe(site.url);
    await download.delete();
  });
});

describe.skipIf(executablePath === undefined)('images of a trace, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  it('stand in a row, are enlarged, and show where they were clicked', async () => {
    const { address } = await openSiteWith(BROWSING.bodies, BROWSING.queued);
    const { page } = await openPage(address);
    await page.locator('.picture-strip li').first().waitFor();
    expect(await page.locator('.picture-strip li').count()).toBe(3);
    const mark = page.locator('#step-1 .click-mark');
    await mark.waitFor();
    expect(await mark.getAttribute('title')).toBe('step 2: click at 340, 352');
    const [image, place] = await Promise.all(
      ['#step-1 img', '#step-1 .click-mark'].map(async (selector) => page.locator(selector).boundingBox()),
    );
    const share = (((place?.x ?? 0) + (place?.width ?? 0) / 2 - (image?.x ?? 0)) / (image?.width ?? 1)) * 960;
    expect(Math.abs(share - 340)).toBeLessThan(4);
    await page.locator('#step-1 .picture').click();
    await page.getByRole('dialog', { name: 'step 1 · screenshot (1 of 3)' }).waitFor();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('dialog', { name: 'step 2 · click (2 of 3)' }).waitFor();
    await page.getByRole('button', { name: 'Go to its step' }).click();
    await isAtTop(page, 'step-2');
    await page.close();
  });

  it('come from their bytes, or from the blob route; what is neither bytes nor a reference is no address', async () => {
    const site = await openSite();
    const traceId = await site.addTrace([...begun]);
    const reference = await site.store.putBlob(traceId, Buffer.from(PNG, 'base64'), 'image/png');
    const sources = ['svc-blob://sha256/../../?token=planted', 'https://evil.example/pixel.png', 'javascript:alert(1)'];
    for (const source of [reference, ...sources]) {
      const { page, hosts } = await openPage(await addTraceTo(site, [...begun, setUp, ...steps(source), ...ending]));
      await page.locator('#step-3 .call').first().waitFor();
      const shown = await page.locator('img').evaluateAll((images) => images.map((image) => image.getAttribute('src')));
      const allowed = [`data:image/png;base64,${PNG}`, `/v1/blobs/${reference.split('/').at(-1)}`];
      expect([source, shown.filter((src) => !allowed.includes(String(src)))]).toEqual([source, []]);
      expect(shown.includes(allowed[1] ?? '')).toBe(source === reference);
      expect(await page.locator('#step-3').textContent()).toContain(
        'An image of type image/svg+xml, which is not shown',
      );
      expect([...hosts]).toEqual([new URL(site.url).host]);
      await page.close();
    }
  });
});
