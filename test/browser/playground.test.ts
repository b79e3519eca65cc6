import { describe, expect, it } from 'vitest';
import { LOCAL_CALLER } from '../../src/support/http/api/api-keys.ts';
import { calls, says } from '../gateway.ts';
import { holdRequest } from '../service/chat/open-chat.ts';
import { send } from '../support/http/http-server.ts';
import { findChromium, type OpenPage, useChromium } from './chromium.ts';
import { choose, openPlayground, openPlaygroundOf, PATIENCE, turnIsOver } from './open-playground.ts';

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
    expect(await page.locator('#prompt').textContent()).toContain('Make the counter show exactly 3');
    const call = page.getByRole('region', { name: 'Tool call increment' });
    expect(await call.locator('.side').allTextContents()).toEqual([
      expect.stringMatching(/^Arguments.*by.*3/),
      expect.stringMatching(/^Result.*3/),
    ]);
    expect(await page.locator('#step-2 pre.text').textContent()).toBe('It shows three.');
    expect(await page.locator('#fact-model').textContent()).toBe('test-model');

    await page.locator('#message').fill('Are you sure?');
    await page.keyboard.press('Enter');
    await page.getByText('Yes, I am.').waitFor();
    await turnIsOver(page);
    expect(await page.locator('#turn-2 pre.text').textContent()).toBe('Are you sure?');
    expect(playground.gateway.requests.map(({ path }) => path)).toEqual([
      '/v1/models',
      ...Array(3).fill('/v1/chat/completions'),
    ]);

    await page.getByRole('button', { name: 'Finish…' }).click();
    await page.getByRole('button', { name: 'Submit and evaluate' }).click();
    await page.locator('#evaluation').waitFor();
    expect(await page.locator('#evaluation .reward').textContent()).toBe('1');
    expect(await page.locator('#answer pre.text').textContent()).toBe('Yes, I am.');
    const trace = await page.locator('.note.end a').getAttribute('href');
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
    const problemSays = (id: string, text: string) => page.locator(`#${id}-problem`, { hasText: text }).waitFor();
    await problemSays('argument-target', 'This is required.');
    expect(await page.locator('#argument-target').getAttribute('aria-invalid')).toBe('true');
    await choose(page, 'keep', { wanted: '[1' });
    await problemSays('argument-wanted', 'This has to be JSON');
    await choose(page, 'keep', { wanted: '[1]' });
    await problemSays('argument-wanted', 'scenario_args.wanted');
    expect(await page.locator('#argument-wanted').getAttribute('aria-invalid')).toBe('true');
    await page.getByRole('button', { name: 'Write them as JSON' }).click();
    expect(await page.locator('#arguments-json').inputValue()).toContain('"wanted"');
    await page.locator('#arguments-json').fill('[]');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await problemSays('arguments-json', 'This has to be an object');
    await page.locator('#arguments-json').fill('{"wanted": ["milk"]}');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await turnIsOver(page);
    expect(await page.locator('#prompt').textContent()).toContain('Note: milk.');
    await page.close();
  });

  it('shows markup and hidden characters of a model, a tool and arguments as text', async () => {
    const { address } = await openPlayground(calls(['note', { text: MARKUP }], ['read_notes', {}]), says(MARKUP));
    const { page, problems } = await open(address);
    await choose(page, 'keep', { wanted: JSON.stringify([MARKUP]) });
    await turnIsOver(page);
    expect(await page.locator('#log :is(b, img)').count()).toBe(0);
    expect(await page.locator('#log').textContent()).not.toContain('\u202e');
    for (const shown of ['#prompt', '.call', '#step-2'])
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
    await turnIsOver(page);
    await page.getByRole('button', { name: 'Abandon' }).click();
    await page.getByText('Abandoned: it was not evaluated.').waitFor();
    expect(await page.locator('#fact-status').textContent()).toBe('abandoned');
    await page.getByRole('button', { name: 'New session' }).click();
    await page.locator('#choices').waitFor();
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
    await page.getByText('More', { exact: true }).click();
    await page.locator('#first').fill('Be quick.');
    await choose(page, 'count_to', { target: '3' });
    await turnIsOver(page);
    const shownOf = async () => ({
      log: String(await page.locator('#log').textContent()).replaceAll(/[\d.]+ m?s\b/g, 'n s'),
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
    await page.locator('#fact-status', { hasText: 'finished' }).waitFor();
    const ended = await shownOf();
    await page.reload();
    await page.locator('#fact-status', { hasText: 'finished' }).waitFor();
    await page.locator('.note.end').waitFor();
    expect(await shownOf()).toEqual(ended);
    expect(await page.locator('#evaluation .reward').textContent()).toBe('1');
    expect(await page.locator('#say').isVisible()).toBe(false);

    await page.getByRole('button', { name: 'New session' }).click();
    expect(new URL(page.url()).search).toBe('');
    await page.reload();
    await page.locator('#choices').waitFor();
    expect(problems).toEqual([]);
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

    await page.goto(`${playground.url}/?session=sess_0`);
    await page.locator('#start-problem', { hasText: 'There is no session "sess_0"' }).waitFor();
    expect(new URL(page.url()).search).toBe('');
    await page.close();
  });

  it('follows a turn that runs on another surface', async () => {
    const held = holdRequest();
    const playground = await openPlayground(says('Ready.'), held.play);
    const { page } = await open(playground.address);
    await choose(page, 'count_to', { target: '3' });
    await turnIsOver(page);
    const thread_id = String(await page.locator('#fact-session').textContent());
    const running = playground.chat('From elsewhere.', { thread_id });
    await held.asked;
    await page.reload();
    await page.getByText('The model is at work').waitFor();
    await page.locator('#turn-2', { hasText: 'From elsewhere.' }).waitFor();
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    expect(await page.getByRole('button', { name: 'Stop' }).count()).toBe(0);
    await says('Also there.')(await held.asked);
    await running;
    await page.getByText('Also there.').waitFor();
    await turnIsOver(page);
    expect(await page.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true);
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
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('message');
    await page.keyboard.type('Thanks.');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.step').count()).toBe(2);
    await turnIsOver(page);
    for (const _ of ['Send', 'Finish…']) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('answer');
    await page.keyboard.type('my own answer');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('#evaluation').waitFor();
    expect(await page.locator('#answer pre.text').textContent()).toBe('my own answer');
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

describe('what the playground asks for', PATIENCE, () => {
  const json = { 'content-type': 'application/json' };
  const start = JSON.stringify({
    scenario: 'count_to',
    scenario_args: { target: 0 },
    model: 'proctor/noop',
    messages: [{ role: 'user', content: 'Go.' }],
  });
  const tokenOf = (page: string) => String(/data-csrf="([\w-]{43})"/.exec(page)?.[1]);

  async function openKeyed() {
    const playground = await openPlaygroundOf(
      { verifyKey: async (key) => (key === 'its-key' ? LOCAL_CALLER : undefined) },
      says('Done.'),
    );
    const cookie = await cookieFor(playground);
    const page = await send(playground.url, '/', { headers: { cookie } });
    return { ...playground, cookie, token: tokenOf(page.text) };
  }

  it('is for a key, or for a signed-in browser with the token of its page: a cookie alone changes nothing', async () => {
    const playground = await openKeyed();
    const { url, cookie, token } = playground;
    const turn = (headers: Readonly<Record<string, string>>) =>
      send(url, '/v1/chat/completions', { method: 'POST', headers: { ...json, ...headers }, body: start });
    expect((await send(url, '/', { headers: { authorization: 'Bearer its-key' } })).status).toBe(401);
    expect((await turn({ cookie })).status).toBe(401);
    expect((await turn({ cookie, 'x-csrf-token': 'x'.repeat(43) })).status).toBe(403);
    const other = await cookieFor(playground);
    expect((await turn({ cookie: other, 'x-csrf-token': token })).status).toBe(403);
    for (const origin of ['null', 'https://elsewhere.example'])
      expect((await turn({ cookie, 'x-csrf-token': token, origin })).status).toBe(403);
    const host = 'rebound.example';
    expect((await turn({ cookie, 'x-csrf-token': token, host })).status).toBe(403);
    const first = await turn({ cookie, 'x-csrf-token': token, origin: url });
    expect(first.status).toBe(200);
    const session = `/v1/sessions/${first.headers['x-svc-session-id']}`;
    for (const [method, path] of [
      ['POST', `${session}/finish`],
      ['DELETE', session],
    ] as const) {
      expect((await send(url, path, { method, headers: { cookie } })).status).toBe(401);
      expect((await send(url, path, { method, headers: { cookie, 'x-csrf-token': 'x' } })).status).toBe(403);
    }
    for (const path of ['/scenarios', '/v1/models', session]) {
      expect([path, (await send(url, path)).status]).toEqual([path, 401]);
      expect([path, (await send(url, path, { headers: { cookie } })).status]).toEqual([path, 200]);
    }
    const remove = { method: 'DELETE', headers: { cookie, 'x-csrf-token': token } };
    expect((await send(url, session, remove)).json).toMatchObject({ status: 'abandoned' });
  });

  it('acts for the account of its key, on a server that asks for none too; nobody else reads its events', async () => {
    const playground = await openPlayground(says('Done.'));
    const { url, accounts } = playground;
    const { session } = await accounts.createBrowserSession('team');
    const cookie = `proctor_session=${session}`;
    const token = tokenOf((await send(url, '/', { headers: { cookie } })).text);
    const headers = { ...json, cookie, 'x-csrf-token': token };
    const { headers: said } = await send(url, '/v1/chat/completions', { method: 'POST', headers, body: start });
    const id = String(said['x-svc-session-id']);
    expect((await send(url, `/v1/sessions/${id}`, { headers: { cookie } })).status).toBe(200);
    expect((await send(url, `/v1/sessions/${id}`)).status).toBe(404);
    const finished = await send(url, `/v1/sessions/${id}/finish`, { method: 'POST', headers, body: '{}' });
    expect(finished.json).toMatchObject({ status: 'finished' });
    const events = `/data/sessions/${id}/events`;
    expect((await send(url, events, { headers: { cookie } })).text).toContain('event: run.finished');
    expect((await send(url, events)).status).toBe(401);
    expect((await send(url, events, { headers: { cookie: await cookieFor(playground) } })).status).toBe(404);
  });

  it('has no routes of its own', async () => {
    const { url, cookie, token } = await openKeyed();
    for (const name of ['turn', 'finish', 'abandon']) {
      const headers = { ...json, cookie, 'x-csrf-token': token };
      const reply = await send(url, `/playground/${name}`, { method: 'POST', headers, body: '{}' });
      expect([name, reply.status]).toEqual([name, 404]);
    }
  });

  it('is a page whose policy lets nothing run but the script of this server, and nothing become markup', async () => {
    const playground = await openPlayground();
    const page = await send(playground.url, '/', { headers: { cookie: await cookieFor(playground) } });
    const policy = String(page.headers['content-security-policy']);
    for (const rule of ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'"])
      expect(policy).toContain(rule);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(page.text).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=/);
  });
});
