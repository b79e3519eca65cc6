import { EnvironmentServer, image, ToolError } from 'proctor';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { serveHttp } from '../environment/server/clients.ts';
import { until } from '../until.ts';
import { findChromium, useChromium } from './chromium.ts';
import { form, helpersOf, openEntry } from './open-helpers.ts';
import { PATIENCE } from './open-playground.ts';
import { seriousProblems } from './serious-problems.ts';

const executablePath = findChromium('test/browser/svc.test.ts');

/** One pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

function createShown(events: string[] = []) {
  let count = 0;
  return () =>
    new EnvironmentServer({ name: 'shown' })
      .tool(
        'add',
        { args: { by: z.int(), note: z.string().optional(), mode: z.enum(['plain', 'loud']).default('plain') } },
        (args) => {
          count += args.by;
          return { count, ...args };
        },
      )
      .tool('picture', {}, () => image(PIXEL, 'image/png'))
      .tool('markup', {}, () => '<img src=x onerror="document.title=1"><b>bold</b>')
      .tool('refuse', {}, () => {
        throw new ToolError('Not on Sundays');
      })
      .tool('wait', {}, async (_args, { signal, progress }) => {
        progress(40, 100, 'almost');
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
        events.push('aborted');
      })
      .tool('anything', { args: { type: 'object' } }, (args) => ({ taken: args }))
      .resource('shown://note', { description: 'A note.', mimeType: 'text/plain' }, () => 'Written <b>here</b>.')
      .resource('shown://data', { mimeType: 'application/json' }, () => ({ deep: { inside: [1, 2] } }))
      .resource('shown://pixel', { mimeType: 'image/png' }, () => Buffer.from(PIXEL, 'base64'))
      .resource('shown://pages/{name}', { complete: { name: () => ['first', 'last'] } }, ({ name }) => `Page ${name}`)
      .prompt(
        'greet',
        {
          args: { name: z.string().describe('Of a person.'), tone: z.string().optional() },
          complete: { tone: (value) => ['warm', 'dry'].filter((each) => each.startsWith(value)) },
        },
        ({ name, tone }) => `Say hello to ${name}, ${tone ?? 'plainly'}`,
      )
      .initialize(() => {})
      .close(() => void events.push('closed'));
}

describe.skipIf(executablePath === undefined)('the page of the development helpers, in Chromium', PATIENCE, () => {
  const open = useChromium(executablePath, (message) => message.type() === 'error');
  const openPage = (url: string) => open(helpersOf(url));

  it('calls a tool with what its form says, in one session, and shows the result, images too', async () => {
    const url = await serveHttp(createShown());
    const { page, problems, hosts } = await openPage(url);
    const add = await openEntry(page, 'add');
    await add.getByLabel('by').fill('3');
    await add.getByLabel('mode').selectOption({ label: 'loud' });
    await add.getByRole('button', { name: 'Call add' }).click();
    await add.getByText('{ "count": 3, "by": 3, "mode": "loud" }').first().waitFor();
    await add.getByLabel('note').fill('"quoted" <b>');
    await add.getByRole('button', { name: 'Call add' }).click();
    await add.locator('.json-string', { hasText: '\\"quoted\\" <b>' }).first().waitFor();
    const picture = await openEntry(page, 'picture');
    await picture.getByRole('button', { name: 'Call picture' }).click();
    const shown = picture.locator('img');
    await shown.waitFor();
    await expect.poll(() => shown.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(1);
    const anything = await openEntry(page, 'anything');
    await anything.getByLabel('arguments').fill('{"a": [1]}');
    await anything.getByRole('button', { name: 'Call anything' }).click();
    await anything.locator('.json-name', { hasText: 'taken' }).first().waitFor();
    expect([problems, [...hosts]]).toEqual([[], [new URL(url).host]]);
    await page.close();
  });

  it('shows markup as text, errors of a tool, and arguments that are refused', async () => {
    const { page, problems } = await openPage(await serveHttp(createShown()));
    const markup = await openEntry(page, 'markup');
    await markup.getByRole('button', { name: 'Call markup' }).click();
    await markup.getByText('<b>bold</b>').waitFor();
    expect(await markup.locator('.outcome-view img, .outcome-view b').count()).toBe(0);
    const refuse = await openEntry(page, 'refuse');
    await refuse.getByRole('button', { name: 'Call refuse' }).click();
    await refuse.getByText('The tool answered with an error').waitFor();
    await refuse.getByText('Not on Sundays').waitFor();
    const add = await openEntry(page, 'add');
    await add.getByRole('button', { name: 'Call add' }).click();
    await add.getByText('This is required.').waitFor();
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-invalid'))).toBe('true');
    expect(problems).toEqual([]);
    await page.close();
  });

  it('shows progress, cancels a call, and ends its session when it is left', async () => {
    const events: string[] = [];
    const { page } = await openPage(await serveHttp(createShown(events)));
    const wait = await openEntry(page, 'wait');
    await wait.getByRole('button', { name: 'Call wait' }).click();
    await wait.getByText('Running: 40 of 100, almost').waitFor();
    await wait.getByRole('button', { name: 'Cancel' }).click();
    await wait.getByText('Cancelled.').waitFor();
    await until(() => events.includes('aborted'));
    await page.goto('about:blank');
    await until(() => events.includes('closed'));
    await page.close();
  });

  it('reads resources, also those whose URI has parts to fill in, and shows text, JSON and images', async () => {
    const { page, problems } = await openPage(await serveHttp(createShown()));
    const read = async (uri: string) => {
      const entry = await openEntry(page, uri);
      await form(entry, `Read ${uri}`).getByRole('button', { name: 'Read' }).click();
      return entry;
    };
    await (await read('shown://note')).getByText('Written <b>here</b>.').waitFor();
    await (await read('shown://data')).getByText('inside').waitFor();
    const pixel = (await read('shown://pixel')).locator('img');
    await pixel.waitFor();
    await expect.poll(() => pixel.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBe(1);
    const pages = await openEntry(page, 'shown://pages/{name}');
    await pages.getByRole('button', { name: 'last' }).click();
    await pages.getByRole('button', { name: 'Read' }).click();
    await pages.getByText('Page last').waitFor();
    await pages.getByRole('combobox', { name: 'name' }).fill('a ü');
    await pages.getByRole('button', { name: 'Read' }).click();
    await pages.getByText('Page a ü').waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it('gets prompts with their arguments, shows what an argument can be, and what is wrong with one', async () => {
    const { page, problems } = await openPage(await serveHttp(createShown()));
    const greet = await openEntry(page, 'greet');
    await greet.getByLabel('name').fill('Ada');
    await greet.getByRole('button', { name: 'warm' }).click();
    await expect.poll(() => greet.getByRole('button', { name: 'dry' }).count()).toBe(0);
    await greet.getByRole('button', { name: 'Get greet' }).click();
    await greet.getByRole('region', { name: 'Message of the user' }).getByText('Say hello to Ada, warm').waitFor();
    expect(problems).toEqual([]);
    await page.close();
  });

  it('reads its lists again when the environment says that they have changed', async () => {
    const environment = new EnvironmentServer({ name: 'growing' });
    environment.tool('grow', {}, () => void environment.tool('grown', {}, () => 'new'));
    const { page } = await openPage(await serveHttp(environment));
    const grow = await openEntry(page, 'grow');
    await grow.getByRole('button', { name: 'Call grow' }).click();
    await page.locator('code.tool-name', { hasText: /^grown$/ }).waitFor();
    expect(await grow.getByRole('button', { name: 'Call grow' }).isVisible()).toBe(true);
    await page.close();
  });

  it('says that its session has ended, and starts another', async () => {
    const { page } = await openPage(await serveHttp(createShown()));
    // The page as it was first may still ask: the session of the last request is the one that the page has now.
    let session = '';
    page.on('request', (request) => {
      session = request.headers()['mcp-session-id'] ?? session;
    });
    await page.reload();
    const add = await openEntry(page, 'add');
    await add.getByLabel('by').fill('1');
    expect(session).not.toBe('');
    await page.evaluate((id) => fetch('/mcp', { method: 'DELETE', headers: { 'mcp-session-id': id } }), session);
    await add.getByRole('button', { name: 'Call add' }).click();
    await add.getByText('The session has ended: start a new one.').waitFor();
    await page.getByRole('button', { name: 'Start a new session' }).click();
    await add.getByText('The session has ended').waitFor({ state: 'detached' });
    const renewed = await openEntry(page, 'add');
    await renewed.getByLabel('by').fill('2');
    await renewed.getByRole('button', { name: 'Call add' }).click();
    await renewed.getByText('"count": 2').first().waitFor();
    await page.close();
  });

  it('another site can neither call, nor read, nor frame anything of it', async () => {
    const events: string[] = [];
    const url = await serveHttp(createShown(events));
    const { page, hosts } = await open('about:blank');
    await page.route('http://evil.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<p>hello</p>' }),
    );
    await page.goto('http://evil.example/');
    const answers = await page.evaluate(
      async ([endpoint = '', helpers = '']) => {
        const initialize = JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'evil', version: '1' } },
        });
        const accept = 'application/json, text/event-stream';
        const tries = [
          fetch(endpoint, {
            method: 'POST',
            headers: { 'content-type': 'application/json', accept },
            body: initialize,
          }),
          fetch(endpoint, { method: 'POST', mode: 'no-cors', body: initialize }),
          fetch(helpers),
          fetch(`${helpers}/tools`),
        ];
        const frame = document.createElement('iframe');
        frame.src = helpers;
        document.body.append(frame);
        const framed = await new Promise<string>((resolve) => {
          frame.onload = () => resolve(frame.contentDocument === null ? 'refused' : 'readable');
        });
        const results = await Promise.allSettled(tries);
        return [framed, ...results.map((each) => (each.status === 'fulfilled' ? each.value.type : 'refused'))];
      },
      [url, helpersOf(url)],
    );
    expect(answers.filter((each) => !['refused', 'opaque'].includes(each))).toEqual([]);
    expect(events).toEqual([]);
    expect([...hosts]).toContain('evil.example');
    await page.close();
  });

  it('is usable by everybody: nothing serious by axe and nothing wider than the window, light and dark, wide and narrow', async () => {
    const { page } = await open(helpersOf(await serveHttp(createShown(), { harnessKey: 'k'.repeat(32) })));
    await (await openEntry(page, 'add')).getByRole('button', { name: 'Call add' }).click();
    await page.evaluate(() => {
      for (const details of document.querySelectorAll('details')) details.open = true;
    });
    await page.getByText('This is required.').first().waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        const seen = `${colorScheme}, ${width} wide`;
        expect([seen, await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)]).toEqual([seen, 0]);
      }
      expect([colorScheme, await seriousProblems(page)]).toEqual([colorScheme, []]);
    }
    await page.close();
  });

  it('is reached by the keyboard alone: a tool is opened, filled in and called', async () => {
    const { page } = await openPage(await serveHttp(createShown()));
    await page.locator('details.tool-entry summary').first().focus();
    await page.keyboard.press('Enter');
    await page.locator('details.tool-entry[open] input').first().waitFor(); // The form is drawn when its entry is opened.
    await page.keyboard.press('Tab');
    await page.keyboard.type('4');
    await page.keyboard.press('Enter');
    await page.getByText('Answered after').waitFor();
    await page.getByText('"count": 4').first().waitFor();
    await page.close();
  });
});
