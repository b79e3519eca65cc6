import { describe, expect, it } from 'vitest';
import { newTrace, newTraceId } from '../store/traces/events.ts';
import { attributesOf, parseHtml } from './html.ts';
import { cookieOf, openSite, type Site } from './site.ts';
import { begun, ending, QUEUED, setUp, steps } from './traces.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

async function addRun(site: Site, account = 'local'): Promise<string> {
  return site.addTrace([...begun, setUp, ...steps('none'), ...ending], newTrace(QUEUED, { account }));
}

/** Statuses of a run page for a cookie: 200 when it is signed in for the run's account. */
async function statusFor(site: Site, traceId: string, cookie: string): Promise<number> {
  return (await site.browse(`/traces/${traceId}`, { cookie })).status;
}

describe('without a cookie', () => {
  it('a page is a sign-in form with status 401 that says how to get the address', async () => {
    const site = await openSite();
    const traceId = await addRun(site);
    for (const path of ['/', `/traces/${traceId}`, `/traces/${newTraceId()}`, '/sign-in']) {
      const reply = await site.browse(path);
      expect(reply.status).toBe(401);
      expect(reply.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(reply.headers['cache-control']).toBe('no-store');
      const page = parseHtml(reply.text);
      const [, id] = /^\/traces\/(.*)$/.exec(path) ?? [];
      expect(page.text).toMatch(new RegExp(`npx proctor open ${id === undefined ? '' : `${id} `}--port \\d+`));
      expect(attributesOf(page, 'form', 'action')).toEqual(['/sign-in']);
      expect(attributesOf(page, 'form', 'method')).toEqual(['post']);
      expect(attributesOf(page, 'input', 'name')).toEqual(['next', 'key']);
      expect(reply.text).not.toContain('gpt-5-mini');
    }
  });

  it('the form names .proctor/key where a first start has kept a key there alone', async () => {
    const site = await openSite();
    const textOfForm = async () => parseHtml((await site.browse('/')).text).text;
    expect(await textOfForm()).not.toContain('.proctor/key');
    const { id } = await site.accounts.createKey({ name: 'local' });
    expect(await textOfForm()).toContain('.proctor/key');
    await site.accounts.revokeKey(id);
    expect(await textOfForm()).not.toContain('.proctor/key');
  });

  it('nobody can tell a trace that exists from one that does not', async () => {
    const site = await openSite();
    const traceId = await addRun(site);
    const other = newTraceId();
    const pages = await Promise.all([traceId, other].map((id) => site.browse(`/traces/${id}`)));
    expect(pages[0]?.text.replaceAll(traceId, '')).toBe(pages[1]?.text.replaceAll(other, ''));
  });

  it('a cookie that is made up, empty or another one signs nobody in', async () => {
    const site = await openSite();
    for (const cookie of ['proctor_session=made-up', 'proctor_session=', 'session=x', 'proctor_session', '=;;=']) {
      expect((await site.browse('/', { cookie })).status).toBe(401);
    }
  });

  it('a bearer key does not open pages', async () => {
    const site = await openSite();
    const traceId = await addRun(site);
    for (const path of ['/', `/traces/${traceId}`]) {
      const reply = await site.browse(path, { headers: { authorization: `Bearer ${site.key}` } });
      expect(reply.status).toBe(401);
      expect(reply.headers['set-cookie']).toBeUndefined();
    }
  });

  it('a browser that followed a link of another site loads the page once more by itself, as its cookie is SameSite=Strict', async () => {
    const site = await openSite();
    const path = `/traces/${newTraceId()}`;
    const refreshOf = async (headers: Record<string, string>) =>
      attributesOf(parseHtml((await site.browse(path, { headers })).text), 'meta', 'content').find((content) =>
        content.includes('url='),
      );
    expect(await refreshOf({ 'sec-fetch-site': 'cross-site' })).toBe(`0; url=${path}`);
    expect(await refreshOf({ 'sec-fetch-site': 'same-site' })).toBe(`0; url=${path}`);
    expect(await refreshOf({ 'sec-fetch-site': 'same-origin' })).toBeUndefined();
    expect(await refreshOf({ 'sec-fetch-site': 'none' })).toBeUndefined();
    expect(await refreshOf({})).toBeUndefined();
  });
});

describe('the one-time ?token=', () => {
  it('is not used up by HEAD, which signs nobody in', async () => {
    const site = await openSite();
    const path = `/?token=${await site.accounts.createSignInToken('local')}`;
    const head = await site.browse(path, { method: 'HEAD' });
    expect([head.status, head.headers['set-cookie']]).toEqual([401, undefined]);
    expect((await site.browse(path)).status).toBe(303);
  });

  it('sets an HttpOnly, SameSite=Strict cookie of 30 days and leads to the page without the token', async () => {
    const site = await openSite();
    const traceId = await addRun(site);
    const token = await site.accounts.createSignInToken('local');
    const reply = await site.browse(`/traces/${traceId}?token=${token}`);
    expect(reply.status).toBe(303);
    expect(reply.headers.location).toBe(`/traces/${traceId}`);
    expect(reply.headers['cache-control']).toBe('no-store');
    const [cookie = ''] = reply.headers['set-cookie'] ?? [];
    const flags = cookie.split('; ').slice(1);
    expect(flags.sort()).toEqual(['HttpOnly', 'Max-Age=2592000', 'Path=/', 'SameSite=Strict']);
    expect(cookie).not.toContain(token);
    expect(await statusFor(site, traceId, cookieOf(reply))).toBe(200);
  });

  it('leads to the list of runs from /', async () => {
    const site = await openSite();
    const token = await site.accounts.createSignInToken('local');
    const reply = await site.browse(`/?token=${token}`);
    expect([reply.status, reply.headers.location]).toEqual([303, '/']);
  });

  it('signs in once', async () => {
    const site = await openSite();
    const token = await site.accounts.createSignInToken('local');
    const first = await site.browse(`/?token=${token}`);
    const second = await site.browse(`/?token=${token}`);
    expect(second.status).toBe(401);
    expect(second.headers['set-cookie']).toBeUndefined();
    expect(parseHtml(second.text).text).toContain('used before or is too old');
    const inSignedInBrowser = await site.browse(`/?token=${token}`, { cookie: cookieOf(first) });
    expect([inSignedInBrowser.status, inSignedInBrowser.headers.location]).toEqual([303, '/']);
    expect(inSignedInBrowser.headers['set-cookie']).toBeUndefined();
  });

  it('signs one browser in, however many come at once', async () => {
    const site = await openSite();
    const token = await site.accounts.createSignInToken('local');
    const replies = await Promise.all(Array.from({ length: 5 }, () => site.browse(`/?token=${token}`)));
    expect(replies.map(({ status }) => status).sort()).toEqual([303, 401, 401, 401, 401]);
  });

  it('is refused when it is unknown, empty, too long or too old, with words of what to do', async () => {
    let now = Date.now();
    const site = await openSite({ now: () => now });
    const token = await site.accounts.createSignInToken('local');
    now += 15 * MINUTE_MS;
    for (const bad of ['unknown', '', 'x'.repeat(5_000), encodeURIComponent('"><script>'), token]) {
      const reply = await site.browse(`/?token=${bad}`);
      expect(reply.status).toBe(401);
      expect(parseHtml(reply.text).text).toMatch(/Run "npx proctor open --port \d+" for a new one\./);
      expect(reply.headers['set-cookie']).toBeUndefined();
    }
  });

  it('lasts 30 days', async () => {
    let now = Date.now();
    const site = await openSite({ now: () => now });
    const cookie = cookieOf(await site.browse(`/?token=${await site.accounts.createSignInToken('local')}`));
    now += 30 * DAY_MS - 1;
    expect((await site.browse('/', { cookie })).status).toBe(200);
    now += 1;
    expect((await site.browse('/', { cookie })).status).toBe(401);
  });
});

describe('the sign-in form', () => {
  it('takes an API key and leads to the page that was asked for', async () => {
    const site = await openSite();
    const traceId = await addRun(site);
    const form = parseHtml((await site.browse(`/traces/${traceId}`)).text);
    const [next = ''] = attributesOf(form, 'input', 'value');
    const reply = await site.submitSignIn({ key: ` ${site.key}\n`, next });
    expect([reply.status, reply.headers.location]).toEqual([303, `/traces/${traceId}`]);
    expect(reply.headers['set-cookie']?.[0]).toMatch(/; HttpOnly; SameSite=Strict; Max-Age=2592000$/);
    expect(await statusFor(site, traceId, cookieOf(reply))).toBe(200);
  });

  it('acts for the account of the key', async () => {
    const site = await openSite();
    const ours = await addRun(site, 'team');
    const theirs = await addRun(site, 'local');
    const { key } = await site.accounts.createKey({ name: 'team-key', account: 'team' });
    const cookie = cookieOf(await site.submitSignIn({ key }));
    expect(await statusFor(site, ours, cookie)).toBe(200);
    expect(await statusFor(site, theirs, cookie)).toBe(404);
  });

  it('refuses an unknown, an empty and a revoked key with 401, and never repeats the key', async () => {
    const site = await openSite();
    const { key, name } = await site.accounts.createKey({ name: 'short-lived' });
    await site.accounts.revokeKey(name);
    for (const bad of ['pk_wrong', '', key, '"><script>alert(1)</script>']) {
      const reply = await site.submitSignIn({ key: bad });
      expect(reply.status).toBe(401);
      const page = parseHtml(reply.text);
      expect(page.text).toContain('This key is not known, or it was revoked.');
      if (bad !== '') expect(reply.text).not.toContain(bad);
      expect(reply.headers['set-cookie']).toBeUndefined();
    }
  });

  it('refuses a form without a key as any route refuses a body without a required field', async () => {
    const site = await openSite();
    const reply = await site.submitSignIn({ next: '/' });
    expect([reply.status, reply.json]).toMatchObject([
      400,
      { error: { code: 'missing_required_parameter', param: 'key' } },
    ]);
  });

  it('leads nowhere but to pages of this server', async () => {
    const site = await openSite();
    const elsewhere = [
      'https://evil.example/',
      '//evil.example',
      '/\\evil.example',
      '\\\\evil.example',
      '/%2f/evil.example',
      '/traces/../../evil',
      '/traces//evil.example',
      `/traces/${'a'.repeat(32)}\r\nset-cookie: a=b`,
      `/traces/${'a'.repeat(32)}/../..`,
      `\t//evil.example`,
      'javascript:alert(1)',
      '/v1/traces',
      '',
    ];
    for (const next of elsewhere) {
      const reply = await site.submitSignIn({ key: site.key, next });
      expect([next, reply.status, reply.headers.location]).toEqual([next, 303, '/']);
    }
  });

  it('keeps a planted address out of the form that follows a wrong key', async () => {
    const site = await openSite();
    const reply = await site.submitSignIn({ key: 'wrong', next: 'https://evil.example/' });
    expect(attributesOf(parseHtml(reply.text), 'input', 'value')).toEqual(['/']);
  });

  it('is refused to a foreign Origin and to Origin: null', async () => {
    const site = await openSite();
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1.evil.example']) {
      const reply = await site.submitSignIn({ key: site.key }, { origin });
      expect([reply.status, reply.json]).toMatchObject([403, { error: { code: 'forbidden_origin' } }]);
      expect(reply.headers['set-cookie']).toBeUndefined();
    }
  });

  it('works in a browser: the referrer policy of its page lets the Origin of the form through', async () => {
    const site = await openSite();
    // Under no-referrer a browser sends `Origin: null` with every form, which is refused.
    expect((await site.browse('/')).headers['referrer-policy']).toBe('same-origin');
  });
});
