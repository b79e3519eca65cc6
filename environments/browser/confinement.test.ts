import { chromium } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ConfinedBrowser } from './chromium/confined-browser.ts';
import { findChromium } from './chromium/find-chromium.ts';
import { OwnOriginServer, parseOwnAddress, type Reply, type SiteRequest } from './chromium/own-origin-server.ts';
import { describeWithChromium } from './test-chromium.ts';
import { ForeignServer } from './test-foreign-server.ts';

const never = new AbortController().signal;
const viewport = { width: 800, height: 600 };

/** A site without any policy, which does what it is told: what holds here does not hold because the shop is well-behaved. */
function hostileSite({ url }: SiteRequest): Reply | Promise<Reply> {
  const html = { 'content-type': 'text/html' };
  switch (url.pathname) {
    case '/redirect':
      return { status: 302, headers: { location: url.searchParams.get('to') ?? '/' }, body: '' };
    case '/hang':
      return new Promise(() => {});
    case '/download':
      return { status: 200, headers: { 'content-disposition': 'attachment; filename=a.bin' }, body: 'bytes' };
    case '/worker.js': {
      const to = url.searchParams.get('to');
      const script = `fetch('${to}', { mode: 'no-cors' }).catch(() => {}).finally(() => self.postMessage?.('done'))`;
      return { status: 200, headers: { 'content-type': 'text/javascript' }, body: script };
    }
    default:
      return { status: 200, headers: html, body: '<!doctype html><title>own</title><h1>Own page</h1>' };
  }
}

/** Expressions by which a page tries to reach `to`; each is over when it has failed or been answered. */
const ATTEMPTS: Readonly<Record<string, (to: string) => string>> = {
  fetch: (to) => `fetch('${to}', { mode: 'no-cors' }).catch(() => {})`,
  'a fetch that is redirected': (to) => `fetch('/redirect?to=${to}', { mode: 'no-cors' }).catch(() => {})`,
  'an image': (to) => `new Promise((done) => { const e = new Image(); e.onload = e.onerror = done; e.src = '${to}' })`,
  'a script': (to) =>
    `new Promise((done) => { const e = document.createElement('script'); e.onload = e.onerror = done; e.src = '${to}'; document.head.append(e) })`,
  'a frame': (to) =>
    `new Promise((done) => { const e = document.createElement('iframe'); e.onload = e.onerror = done; setTimeout(done, 500); e.src = '${to}'; document.body.append(e) })`,
  'a frame that is redirected': (to) =>
    `new Promise((done) => { const e = document.createElement('iframe'); e.onload = e.onerror = done; setTimeout(done, 500); e.src = '/redirect?to=${to}'; document.body.append(e) })`,
  'a WebSocket': (to) =>
    `new Promise((done) => { const s = new WebSocket('${to.replace('http', 'ws')}'); s.onclose = s.onerror = done })`,
  'an event stream': (to) =>
    `new Promise((done) => { const s = new EventSource('${to}'); s.onerror = () => { s.close(); done() } })`,
  'a beacon': (to) => `navigator.sendBeacon('${to}', 'x')`,
  'a worker': (to) =>
    `new Promise((done) => { const w = new Worker('/worker.js?to=${to}'); w.onmessage = w.onerror = done })`,
  'a service worker': (to) => `navigator.serviceWorker?.register('/worker.js?to=${to}').catch(() => {})`,
  WebRTC: (to) => {
    const { hostname, port } = new URL(to);
    return `(async () => {
      const servers = [{ urls: 'stun:${hostname}:${port}' }, { urls: 'turn:${hostname}:${port}?transport=tcp', username: 'u', credential: 'c' }];
      const peer = new RTCPeerConnection({ iceServers: servers });
      peer.createDataChannel('d');
      await peer.setLocalDescription(await peer.createOffer());
      await new Promise((done) => { peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && done(); setTimeout(done, 1000) });
      peer.close();
    })()`;
  },
  'a new window': (to) => `{ open('${to}') }`,
  'a new window without opener': (to) => `{ open('${to}', '_blank', 'noopener') }`,
  'a link that opens a new window': (to) =>
    `{ const e = document.createElement('a'); e.href = '${to}'; e.target = '_blank'; document.body.append(e); e.click() }`,
  'a form that is posted': (to) =>
    `{ const e = document.createElement('form'); e.method = 'post'; e.action = '${to}'; document.body.append(e); e.submit() }`,
  'a change of its address': (to) => `{ location.assign('${to}') }`,
  'a redirect of its address': (to) => `{ location.assign('/redirect?to=${to}') }`,
  'a refresh header in the page': (to) =>
    `{ document.head.insertAdjacentHTML('beforeend', '<meta http-equiv="refresh" content="0;url=${to}">') }`,
};
const names = Object.keys(ATTEMPTS);

describe('an address within the site', () => {
  const origin = 'http://127.0.0.1:4000';

  it.each([
    ['/products?q=a#b', '/products?q=a#b'],
    ['products', '/products'],
    ['http://127.0.0.1:4000/x', '/x'],
    ['http://2130706433:4000/x', '/x'],
  ])('%s is one', (address, path) => {
    expect(parseOwnAddress(address, origin)?.href).toBe(`${origin}${path}`);
  });

  it.each([
    'http://127.0.0.1:4001/',
    'http://127.0.0.1/',
    'http://127.0.0.2:4000/',
    'http://localhost:4000/',
    'http://[::1]:4000/',
    'http://0.0.0.0:4000/',
    'https://127.0.0.1:4000/',
    'ws://127.0.0.1:4000/',
    'http://user:word@127.0.0.1:4000/',
    '//127.0.0.2:4000/',
    '/\\127.0.0.2:4000/',
    'http:\\\\127.0.0.2:4000',
    'file:///etc/passwd',
    'data:text/html,hello',
    'view-source:http://127.0.0.1:4000/',
    'blob:http://127.0.0.1:4000/5a0b',
    'filesystem:http://127.0.0.1:4000/x',
    'chrome://version',
    'about:blank',
    'javascript:alert(1)',
    ' java\nscript:alert(1)',
    'http://127.0.0.1:4000.example.com/',
    'http://127.0.0.1:4000@example.com/',
    'http://example.com/',
    'http://[',
  ])('%s is none', (address) => {
    expect(parseOwnAddress(address, origin)).toBeUndefined();
  });
});

describeWithChromium('environments/browser/confinement.test.ts')('a browser that is confined to its site', () => {
  const foreign: ForeignServer[] = [];
  let server: OwnOriginServer;
  let browser: ConfinedBrowser;
  const seen = () => foreign.flatMap((each) => each.seen);
  const evaluate = (expression: string) => browser.act(never, ({ page }) => page.evaluate(expression));
  /** The page has been idle for a turn, and the browser has had an answer since: what it would send, it has sent. */
  const breathe = () => evaluate("fetch('/').then(() => new Promise((done) => setTimeout(done, 50)))");

  beforeAll(async () => {
    const first = await ForeignServer.start('127.0.0.1');
    foreign.push(first);
    // The same port at this machine's other addresses, so that one name or another leads to one of them.
    for (const host of ['127.0.0.2', '::1']) {
      const another = await ForeignServer.start(host, first.port).catch(() => undefined);
      if (another !== undefined) foreign.push(another);
    }
    server = await OwnOriginServer.start(hostileSite);
    browser = await ConfinedBrowser.launch({ origin: server.origin, viewport });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    await Promise.all(foreign.map((each) => each.close()));
  });

  beforeEach(() => {
    for (const each of foreign) each.seen.length = 0;
  });

  it('each way that is tried here leads to a foreign server from a browser that is not confined', {
    timeout: 60_000,
  }, async () => {
    const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    const free = await chromium.launch({ executablePath: findChromium(), args: sandbox });
    // The site takes requests as a proxy alone, and the foreign server is reached without one.
    const proxy = { server: server.origin, bypass: `127.0.0.1:${foreign[0]?.port}` };
    const missed: string[] = [];
    for (const name of names) {
      const context = await free.newContext({ proxy });
      const page = await context.newPage();
      await page.goto(`${server.origin}/`);
      const before = seen().length;
      await page.evaluate(ATTEMPTS[name]?.(`http://127.0.0.1:${foreign[0]?.port}/`) ?? '').catch(() => {});
      await expect
        .poll(() => seen().length, { timeout: 3_000, interval: 20 })
        .toBeGreaterThan(before)
        .catch(() => missed.push(name));
      await context.close();
    }
    await free.close();
    expect(missed).toEqual([]);
  });

  it.each(names)('cannot leave by %s', async (name) => {
    await evaluate(ATTEMPTS[name]?.(`http://127.0.0.1:${foreign[0]?.port}/`) ?? '').catch(() => {});
    await breathe();
    expect(seen()).toEqual([]);
    expect(await evaluate('location.origin')).toBe(server.origin);
  });

  it('cannot reach this machine under any other name or address, nor look a name up', async () => {
    await browser.restart(never);
    const hosts = [
      '127.0.0.2',
      'localhost',
      'shop.localhost',
      '[::1]',
      '0.0.0.0',
      '127.1',
      'example.com',
      '[::ffff:127.0.0.1]',
    ];
    for (const host of hosts) {
      await evaluate(`fetch('http://${host}:${foreign[0]?.port}/', { mode: 'no-cors' }).catch(() => {})`);
      await evaluate(ATTEMPTS['a WebSocket']?.(`http://${host}:${foreign[0]?.port}/`) ?? '');
    }
    expect(seen()).toEqual([]);
  });

  it.each([
    'file:///etc/passwd',
    'data:text/html,<title>data</title>',
    'chrome://version',
    'view-source:/',
    'about:blank',
  ])('a page cannot go to %s, or is brought back', async (address) => {
    await browser.restart(never);
    await evaluate(`{ location.assign('${address}') }`).catch(() => {});
    await expect.poll(() => evaluate('location.origin')).toBe(server.origin);
  });

  it('says so when a page of the site leads out of it, and shows the site again', async () => {
    const out = `http://127.0.0.2:${foreign[0]?.port}/`;
    await expect(browser.goto(`/redirect?to=${out}`, never)).rejects.toThrow('out of this site');
    expect(browser.path).toBe('/');
    expect(seen()).toEqual([]);
  });

  it('refuses downloads', async () => {
    await browser.restart(never);
    await expect(browser.goto('/download', never)).rejects.toThrow('download');
    expect(browser.path).toBe('/');
  });

  it('has a site that answers nobody else', async () => {
    const direct = await fetch(server.origin);
    expect([direct.status, await direct.text()]).toEqual([403, 'This browser stays in its own site']);
  });

  it('gives a page up that does not answer, when the call is aborted and when its time is over', async () => {
    const hasty = await ConfinedBrowser.launch({ origin: server.origin, viewport, actionLimitMs: 2_000 });
    const pathname = () => hasty.act(never, ({ page }) => page.evaluate('location.pathname'));
    try {
      const abort = new AbortController();
      const call = hasty.goto('/hang', abort.signal);
      setImmediate(() => abort.abort(new Error('enough')));
      await expect(call).rejects.toThrow('enough');
      expect(await pathname()).toBe('/');
      await expect(hasty.goto('/hang', never)).rejects.toThrow('did not answer within 2 s');
      expect(await pathname()).toBe('/');
    } finally {
      await hasty.close();
    }
  });

  it('goes on after a page that has closed itself, and one that has crashed', async () => {
    await browser.restart(never);
    await evaluate('{ window.close() }').catch(() => {});
    await browser.goto('/', never);
    await browser
      .act(never, async ({ page }) => {
        const devtools = await page.context().newCDPSession(page);
        await Promise.race([devtools.send('Page.crash').catch(() => {}), page.waitForEvent('crash')]);
      })
      .catch(() => {});
    await browser.goto('/', never);
    expect(await evaluate('document.title')).toBe('own');
  });
});
