import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { inMemory } from '../../src/environment/server/in-memory.ts';
import { calls, says } from '../gateway.ts';
import { findChromium, type OpenPage, useChromium } from './chromium.ts';
import { choose, openPlayground, openPlaygroundOf, PATIENCE, turnIsOver } from './open-playground.ts';

const executablePath = findChromium('test/browser/playground-details.test.ts');

/** A scenario whose arguments have bounds, choices and defaults. */
function createTea(): EnvironmentServer {
  const env = new EnvironmentServer({ name: 'tea' });
  const args = {
    strength: z.enum(['mild', 'strong', 'bitter']).default('mild').describe('How it tastes.'),
    cups: z.int().min(1).max(10),
    degrees: z.number().gt(60).default(80),
    sugar: z.int().min(0).default(2),
    label: z.string().default('of the day'),
    ...Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`note_${index}`, z.string().optional()])),
  };
  env.scenario('brew', { args }, async function* ({ strength, cups }) {
    yield `${cups} cups of ${strength} tea.`;
    return 1;
  });
  return env;
}

/** Runs in the page: the events of a session arrive once the window is told so, the reply's head at once. */
function holdEvents(): void {
  const send = window.fetch;
  window.fetch = async (input, init) => {
    const response = await send(input, init);
    if (!String(input).endsWith('/events') || response.body === null) return response;
    const goesOn = new Promise((resolve) => addEventListener('events-go-on', resolve, { once: true }));
    const held = new TransformStream({
      transform: async (chunk, stream) => {
        await goesOn;
        stream.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(held), response);
  };
}

describe.skipIf(executablePath === undefined)('the playground, in Chromium,', PATIENCE, () => {
  const openPage = useChromium(executablePath, (message) => message.text().includes('Security Policy'));
  async function open(address: string): Promise<OpenPage> {
    const opened = await openPage(address);
    await opened.page.locator('#choices').waitFor();
    return opened;
  }

  async function openTea(): Promise<OpenPage> {
    const environments = new Map([['tea', inMemory(createTea)]]);
    return await open((await openPlaygroundOf({ environments }, says('Here you are.'))).address);
  }

  it('says the range and the description of a field, and fills its default in', async () => {
    const { page, problems } = await openTea();
    const aboutOf = (name: string) => page.locator(`#argument-${name}-about`).textContent();
    expect(await page.locator('#argument-strength option').allTextContents()).toEqual([
      '–',
      'mild',
      'strong',
      'bitter',
    ]);
    expect(await page.locator('#argument-strength').inputValue()).toBe('mild');
    expect(await aboutOf('strength')).toBe('How it tastes.');
    expect(await aboutOf('cups')).toBe(' 1 to 10.');
    expect(await aboutOf('degrees')).toBe(' Over 60.');
    expect(await aboutOf('sugar')).toBe(' At least 0.');
    expect(await page.locator('#argument-label').inputValue()).toBe('of the day');
    await page.locator('#argument-cups').fill('3');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await turnIsOver(page);
    expect(await page.locator('#prompt').textContent()).toContain('3 cups of mild tea.');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('shows what is wrong with a field under it, and in view, wherever the page is scrolled to', async () => {
    const { page } = await openTea();
    for (const viewport of [
      { width: 1280, height: 700 },
      { width: 390, height: 700 },
    ]) {
      await page.setViewportSize(viewport);
      await page.locator('#argument-cups').fill('99');
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      const problem = page.locator('#argument-cups-problem', { hasText: 'scenario_args.cups' });
      await problem.waitFor();
      expect(await page.locator('#argument-cups').getAttribute('aria-describedby')).toContain('argument-cups-problem');
      await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('argument-cups');
      const [field, said] = [await page.locator('#argument-cups').boundingBox(), await problem.boundingBox()];
      if (field === null || said === null) throw new Error('Not shown');
      expect(field.y).toBeGreaterThanOrEqual(0);
      expect(said.y).toBeGreaterThanOrEqual(field.y + field.height);
      expect(said.y).toBeLessThan(field.y + field.height + 60);
      expect(said.y + said.height).toBeLessThanOrEqual(viewport.height);
      await page.locator('#argument-cups').fill('');
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await page.locator('#argument-cups-problem', { hasText: 'This is required.' }).waitFor();
    }
    await page.close();
  });

  it('counts the steps of a first turn that fails, before and after it is loaded anew', async () => {
    const { address } = await openPlayground(calls(['note', { text: 'milk' }]), (response) =>
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"No such thing"}}'),
    );
    const { page } = await open(address);
    await choose(page, 'keep', { wanted: '["milk"]' });
    await page.locator('#fact-status', { hasText: 'failed' }).waitFor();
    await expect.poll(() => page.locator('#fact-steps').textContent()).toBe('1');
    await page.reload();
    await page.locator('#fact-status', { hasText: 'failed' }).waitFor();
    await expect.poll(() => page.locator('#fact-steps').textContent()).toBe('1');
    await page.close();
  });

  it('counts the seconds of a tool that runs', async () => {
    const { address } = await openPlayground(calls(['wait', {}]), says('Done.'));
    const { page } = await open(address);
    await choose(page, 'keep', { wanted: '[]' });
    await page.locator('.call', { hasText: /running [1-9]\d* s/ }).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.locator('#fact-status', { hasText: 'failed' }).waitFor();
    expect(await page.locator('#fact-steps').textContent()).toBe('1');
    // What was stopped on purpose was not left.
    await page.reload();
    await page.locator('#fact-status', { hasText: 'failed' }).waitFor();
    expect(await page.locator('#log').textContent()).not.toContain('You left the page');
    await page.close();
  });

  it('shows the schema of an answer where the scenario has one', async () => {
    const { address } = await openPlayground(says('{"count": 3}'));
    const { page } = await open(address);
    await choose(page, 'form', {});
    await turnIsOver(page);
    await page.reload();
    await turnIsOver(page);
    await page.getByRole('button', { name: 'Finish…' }).click();
    await page.locator('#answer-schema summary').click();
    expect(await page.locator('#answer-schema').textContent()).toMatch(/properties.*count.*integer/);
    await page.locator('#answer').fill('{"cuont": 3}');
    await page.getByRole('button', { name: 'Submit and evaluate' }).click();
    await page.locator('#evaluation', { hasText: 'cuont: is not a field that exists' }).waitFor();
    await page.getByRole('button', { name: 'New session' }).click();
    await choose(page, 'keep', { wanted: '[]' });
    await turnIsOver(page);
    await page.getByRole('button', { name: 'Finish…' }).click();
    expect(await page.locator('#answer-schema').isVisible()).toBe(false);
    await page.close();
  });

  it('says that it is your turn when it has drawn the conversation, and not before', async () => {
    const { address } = await openPlayground(says('At one.'), says('At two.'));
    const { page } = await open(address);
    await page.addInitScript(holdEvents);
    await page.reload();
    await choose(page, 'keep', { wanted: '[]' });
    const stop = page.getByRole('button', { name: 'Stop' });
    const isReading = async () => {
      await page.locator('#say').waitFor();
      await stop.waitFor({ state: 'detached' });
      expect(await page.locator('#state').textContent()).toBe('Reading the conversation…');
      expect(await page.getByRole('button', { name: 'Finish…' }).isDisabled()).toBe(true);
    };
    await isReading();
    await page.evaluate(() => dispatchEvent(new Event('events-go-on')));
    await turnIsOver(page);
    expect(await page.locator('#log').textContent()).toContain('At one.');
    await page.locator('#message').fill('And now?');
    await page.keyboard.press('Enter');
    await page.getByText('At two.').waitFor();
    await turnIsOver(page);

    await page.reload();
    await page.locator('#fact-session').waitFor();
    await isReading();
    await page.evaluate(() => dispatchEvent(new Event('events-go-on')));
    await page.getByText('At one.').waitFor();
    await turnIsOver(page);
    expect(await page.locator('#log').textContent()).toContain('At two.');
    await page.close();
  });

  it('says whose turn it is in full in a narrow window', async () => {
    const { address } = await openPlayground(says('x '.repeat(3_000)), says('y '.repeat(3_000)));
    const { page } = await open(address);
    await page.setViewportSize({ width: 390, height: 700 });
    await choose(page, 'keep', { wanted: '[]' });
    await turnIsOver(page);
    const isCovered = () =>
      page.locator('#state').evaluate((state) => {
        const { left, right, top, bottom } = state.getBoundingClientRect();
        const seen = [top + 4, bottom - 4].map((y) => document.elementFromPoint((left + right) / 2, y));
        return seen.some((element) => element !== state);
      });
    expect(await isCovered()).toBe(false);
    await page.evaluate(() => scrollTo(0, 0));
    expect(await isCovered()).toBe(false);
    await page.close();
  });
});
