import { describe, expect, it } from 'vitest';
import { send } from '../http/http-server.ts';
import { holdRequest } from '../scenario-server/open-chat.ts';
import { calls, says } from '../scenario-server/server.ts';
import { findChromium, type OpenPage, useChromium } from './chromium.ts';
import { choose, openPlayground, PATIENCE, turnIsOver } from './open-playground.ts';

const executablePath = findChromium('test/browser/playground.test.ts');

const MARKUP = '<img src=x onerror="document.title=1"><b>bold</b>\u202e';

async function cookieFor({ accounts }: Awaited<ReturnType<typeof openPlayground>>): Promise<string> {
  return `proctor_session=${(await accounts.createBrowserSession('local')).session}`;
}

describe.skipIf(executablePath === undefined)('the playground, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, (message) => message.text().includes('Security Policy'));
  async function open(address: string): Promise<OpenPage> {
    const opened = await openPage(address);
    await opened.page.locator('#choices').waitFor();
    return opened;
  }

  it('starts a session, streams text and tool activity, takes a follow-up, finishes, shows the reward and opens the trace', async () => {
    const playground = await openPlayground(
      calls(['increment', { by: 3 }]),
      says('It shows ', 'three.'),
      says('Yes, I am.'),
    );
    const { page, problems, hosts } = await open(playground.address);
    await choose(page, 'count_to', { target: '3' });
    await turnIsOver(page);
    expect(await page.locator('.bubble.prompt').textContent()).toContain('Make the counter show exactly 3');
    const tool = page.locator('.tool');
    expect(await tool.locator('summary').textContent()).toMatch(/increment {"by":3} \d+ ms3/);
    expect(await page.locator('.bubble.model .text').textContent()).toBe('It shows three.');
    expect(await page.locator('#fact-model').textContent()).toBe('test-model');

    await page.locator('#message').fill('Are you sure?');
    await page.keyboard.press('Enter');
    await page.getByText('Yes, I am.').waitFor();
    await turnIsOver(page);
    expect(await page.locator('.bubble.user .text').textContent()).toBe('Are you sure?');
    expect(playground.gateway.requests.map(({ path }) => path)).toEqual([
      '/v1/models',
      ...Array(3).fill('/v1/chat/completions'),
    ]);

    await page.getByRole('button', { name: 'Finish…' }).click();
    await page.getByRole('button', { name: 'Submit and evaluate' }).click();
    await page.locator('.reward').waitFor();
    expect(await page.locator('.reward .number').textContent()).toBe('1');
    expect(await page.locator('.reward pre').first().textContent()).toBe('Yes, I am.');
    const trace = await page.locator('.reward a').getAttribute('href');
    expect(trace).toBe(await page.locator('#trace').getAttribute('href'));
    await page.goto(String(trace));
    await page.locator('#turn-2', { hasText: 'Are you sure?' }).waitFor();
    expect([problems, [...hosts]]).toEqual([[], [new URL(playground.url).host]]);
    await page.close();
  });

  it('shows in words what is wrong with the arguments, marks the field, and takes them as JSON, too', async () => {
    const { address } = await openPlayground(says('Done.'));
    const { page } = await open(address);
    await choose(page, 'count_to', {});
    const problemSays = (text: string) => page.locator('#start-problem', { hasText: text }).waitFor();
    await problemSays('scenario_args.target is required');
    expect(await page.locator('#argument-target').getAttribute('aria-invalid')).toBe('true');
    await choose(page, 'keep', { wanted: '[1' });
    await problemSays('wanted is not JSON');
    await choose(page, 'keep', { wanted: '[1]' });
    await problemSays('scenario_args.wanted');
    expect(await page.locator('#argument-wanted').getAttribute('aria-invalid')).toBe('true');
    await page.getByRole('button', { name: 'Write them as JSON' }).click();
    expect(await page.locator('#arguments-json').inputValue()).toContain('"wanted"');
    await page.locator('#arguments-json').fill('{"wanted": ["milk"]}');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await turnIsOver(page);
    expect(await page.locator('.bubble.prompt').textContent()).toContain('Note: milk.');
    await page.close();
  });

  it('shows markup and hidden characters of a model, a tool and arguments as text', async () => {
    const { address } = await openPlayground(calls(['note', { text: MARKUP }], ['read_notes', {}]), says(MARKUP));
    const { page, problems } = await open(address);
    await choose(page, 'keep', { wanted: JSON.stringify([MARKUP]) });
    await turnIsOver(page);
    for (const tool of await page.locator('.tool summary').all()) await tool.click();
    expect(await page.locator('#log :is(b, img)').count()).toBe(0);
    expect(await page.locator('#log').textContent()).not.toContain('\u202e');
    for (const shown of ['.bubble.prompt', '.tool pre', '.bubble.model'])
      expect((await page.locator(shown).allTextContents()).join(' ')).toContain('<b>bold</b>[U+202E]');
    expect([await page.title(), problems]).toEqual(['Playground · Proctor', []]);
    await page.close();
  });

  it('stops a turn, keeps what was done, goes on, and tells a failure of the gateway in words', async () => {
    const { address, gateway } = await openPlayground(
      calls(['note', { text: 'milk' }]),
      says('Noted.'),
      () => {}, // Says nothing, until the page stops it.
      says('Here I am again.'),
      (response) =>
        response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"No such thing"}}'),
    );
    const { page } = await open(address);
    await choose(page, 'keep', { wanted: '["milk"]' });
    await turnIsOver(page);
    const say = async (text: string) => {
      await page.locator('#message').fill(text);
      await page.keyboard.press('Enter');
    };
    await say('And now?');
    await page.getByText('The model is at work').waitFor();
    await expect.poll(() => gateway.requests.length).toBe(4);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped. What the model had done before is kept').waitFor();
    await gateway.clientClosed;
    await say('Are you there?');
    await page.getByText('Here I am again.').waitFor();
    await turnIsOver(page);
    await say('Fail.');
    await page.locator('.note.problem', { hasText: 'No such thing' }).waitFor();
    await page.getByRole('button', { name: 'Abandon' }).click();
    await page.getByText('Abandoned: it was not evaluated.').waitFor();
    expect(await page.locator('#fact-status').textContent()).toBe('abandoned');
    await page.getByRole('button', { name: 'New session' }).click();
    expect(await page.locator('#start').isVisible()).toBe(true);
    await page.close();
  });

  it('shows its session again when it is loaded anew: to go on with, and with its reward', async () => {
    const playground = await openPlayground(
      calls(['increment', { by: 2 }], ['increment', { by: 'x' }]),
      says('At ', 'two.'),
      calls(['increment', { by: 1 }]),
      says('At three.'),
    );
    const { page, problems } = await open(playground.address);
    await page.locator('#first').evaluate((field) => Object.assign(field, { value: 'Be quick.' }));
    await choose(page, 'count_to', { target: '3' });
    await turnIsOver(page);
    const shownOf = async () => ({
      log: String(await page.locator('#log').textContent()).replaceAll(/\d+ ms/g, 'n ms'),
      facts: await page.locator('#facts').textContent(),
      trace: await page.locator('#trace').getAttribute('href'),
      state: await page.locator('#state').textContent(),
    });
    const before = await shownOf();
    await page.reload();
    await turnIsOver(page);
    expect(await shownOf()).toEqual(before);
    expect(before.log).toContain('Be quick.');

    await page.locator('#message').fill('One more.');
    await page.keyboard.press('Enter');
    await page.getByText('At three.').waitFor();
    await turnIsOver(page);
    const later = await shownOf();
    await page.reload();
    await turnIsOver(page);
    expect(await shownOf()).toEqual(later);

    await page.getByRole('button', { name: 'Finish…' }).click();
    await page.getByRole('button', { name: 'Submit and evaluate' }).click();
    await page.locator('.reward').waitFor();
    const ended = await shownOf();
    await page.reload();
    await page.locator('.reward').waitFor();
    expect(await shownOf()).toEqual(ended);
    expect(await page.locator('.reward .number').textContent()).toBe('1');
    expect(await page.locator('#say').isVisible()).toBe(false);

    await page.getByRole('button', { name: 'New session' }).click();
    expect(new URL(page.url()).hash).toBe('');
    await page.reload();
    await page.locator('#choices').waitFor();
    expect([await page.locator('#start').isVisible(), problems]).toEqual([true, []]);
    await page.close();
  });

  it('says after it was loaded anew that a turn was stopped by it, that a session failed, and that there is none', async () => {
    const held = holdRequest();
    const lost = holdRequest();
    const playground = await openPlayground(says('Ready.'), held.play, says('Back.'), lost.play);
    const { page } = await open(playground.address);
    await choose(page, 'count_to', { target: '3' });
    await turnIsOver(page);
    await page.locator('#message').fill('Wait.');
    await page.keyboard.press('Enter');
    await held.asked;
    await page.reload();
    await held.dropped;
    await page.getByText('This turn was stopped.').waitFor();
    await page.locator('#message').fill('Go on.');
    await page.keyboard.press('Enter');
    await page.getByText('Back.').waitFor();

    await turnIsOver(page);
    await page.getByRole('button', { name: 'Abandon' }).click();
    await page.getByRole('button', { name: 'New session' }).click();
    await choose(page, 'count_to', { target: '3' });
    await lost.asked;
    // The gateway may be asked before the page has read which session it is.
    await page.locator('#fact-session').waitFor();
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.type());
      void dialog.accept();
    });
    await page.reload();
    await lost.dropped;
    await page.locator('#fact-status', { hasText: 'failed' }).waitFor();
    await page.locator('.note.problem', { hasText: 'You left the page during the first turn' }).waitFor();
    expect(asked).toEqual(['beforeunload']);
    expect(await page.locator('#say').isVisible()).toBe(false);

    // Another session in the address is shown at once.
    await page.goto(`${playground.url}/#session=sess_0`);
    await page.locator('#start-problem', { hasText: 'There is no session "sess_0"' }).waitFor();
    await page.locator('#choices').waitFor();
    expect(new URL(page.url()).hash).toBe('');
    await page.close();
  });

  it('shows a turn that runs on another surface once it is over', async () => {
    const held = holdRequest();
    const playground = await openPlayground(says('Ready.'), held.play);
    const { page } = await open(playground.address);
    await choose(page, 'count_to', { target: '3' });
    await turnIsOver(page);
    const thread_id = String(await page.locator('#fact-session').textContent());
    const running = playground.chat('From elsewhere.', { thread_id });
    await held.asked;
    await page.reload();
    await page.getByText('A turn goes on that this page does not follow').waitFor();
    expect(await page.locator('#say').isVisible()).toBe(false);
    await says('Also there.')(await held.asked);
    await running;
    await page.getByText('Also there.').waitFor();
    await turnIsOver(page);
    expect(await page.locator('.bubble.user .text').textContent()).toBe('From elsewhere.');
    expect(await page.locator('#say').isVisible()).toBe(true);
    await page.close();
  });

  it('is used by the keyboard alone', async () => {
    const { address } = await openPlayground(says('Done.'));
    const { page } = await open(address);
    await page.locator('#scenario').focus();
    await page.keyboard.press('Tab');
    await page.keyboard.type('0');
    await page.keyboard.press('Enter');
    await turnIsOver(page);
    await page.keyboard.type('Thanks.');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.bubble.model').count()).toBe(2);
    await turnIsOver(page);
    for (const _ of ['Send', 'Finish…']) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.keyboard.type('my own answer');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('.reward').waitFor();
    expect(await page.locator('.reward pre').first().textContent()).toBe('my own answer');
    await page.close();
  });

  it('fits narrow and wide windows, in light and dark', async () => {
    const { address } = await openPlayground(calls(['flood', {}]), says('x'.repeat(2_000)));
    const { page } = await open(address);
    await choose(page, 'keep', { wanted: '[]' });
    await turnIsOver(page);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [390, 1440]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      }
    }
    await page.close();
  });

  it('asks a browser to sign in before it shows anything', async () => {
    const { url, accounts } = await openPlayground();
    const { page } = await openPage(url);
    expect(await page.locator('h1').textContent()).toBe('Sign in');
    await page.goto(`${url}/traces?token=${await accounts.createSignInToken('local')}`);
    await page.getByRole('heading', { name: 'Traces', exact: true }).waitFor();
    expect(page.url()).toBe(`${url}/traces`);
    await page.getByRole('link', { name: 'Playground' }).click();
    await page.locator('#choices').waitFor();
    await page.getByRole('link', { name: 'Traces' }).click();
    await page.waitForURL(`${url}/traces`);
    await page.close();
  });
});

describe('what the playground page asks for', PATIENCE, () => {
  const json = { 'content-type': 'application/json' };
  const start = JSON.stringify({ scenario: 'count_to', scenario_args: { target: 0 }, model: 'proctor/noop' });

  it('needs the cookie of a signed-in browser, and for a change the token of the page: neither a key nor a cookie alone will do', async () => {
    const playground = await openPlayground(says('Done.'));
    const { url, accounts } = playground;
    const cookie = await cookieFor(playground);
    const { key } = await accounts.createKey({ name: 'mine' });
    const turn = (headers: Readonly<Record<string, string>>) =>
      send(url, '/playground/turn', { method: 'POST', headers: { ...json, ...headers }, body: start });
    expect((await send(url, '/', { headers: { authorization: `Bearer ${key}` } })).status).toBe(401);
    expect((await send(url, '/playground/choices')).status).toBe(401);
    expect(
      (await send(url, '/playground/sessions/sess_1', { headers: { authorization: `Bearer ${key}` } })).status,
    ).toBe(401);
    expect((await turn({ authorization: `Bearer ${key}` })).status).toBe(401);
    expect((await turn({ cookie })).status).toBe(403);
    expect((await turn({ cookie, 'x-csrf-token': 'x'.repeat(43) })).status).toBe(403);
    for (const path of ['/playground/finish', '/playground/abandon']) {
      const reply = await send(url, path, {
        method: 'POST',
        headers: { ...json, cookie },
        body: '{"session_id":"sess_1"}',
      });
      expect([path, reply.status]).toEqual([path, 403]);
    }
    const page = await send(url, '/', { headers: { cookie } });
    const token = /data-csrf="([\w-]{43})"/.exec(page.text)?.[1];
    expect((await turn({ cookie, 'x-csrf-token': String(token) })).text).toContain('"type":"answered"');
    const other = await cookieFor(playground);
    expect((await turn({ cookie: other, 'x-csrf-token': String(token) })).status).toBe(403);
  });

  it('is a page whose policy lets nothing run but its own script, and nothing come from elsewhere', async () => {
    const playground = await openPlayground();
    const page = await send(playground.url, '/', { headers: { cookie: await cookieFor(playground) } });
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/script-src 'sha256-[\w+/]+=*';/);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });
});
