import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/contract/service/event.ts';
import type { TraceList } from '../../src/contract/service/trace.ts';
import { RegisteredModels } from '../../src/store/models/registered-models.ts';
import { builtAssets } from '../../src/support/http/reply/built-assets.ts';
import type { TraceData } from '../../src/web/trace-data.ts';
import { newTrace, newTraceId } from '../store/traces/events.ts';
import type { Reply } from '../support/http/http-server.ts';
import { parseHtml } from './html.ts';
import { openSite, type Site } from './site.ts';
import { begun, ending, QUEUED, setUp, steps } from './traces.ts';

async function addRun(site: Site, account = 'local'): Promise<string> {
  return site.addTrace([...begun, setUp, ...steps('none'), ...ending], newTrace(QUEUED, { account }));
}

describe('a signed-in browser', () => {
  it('gets 404 for a trace of another account, one that does not exist, and what is no id', async () => {
    const site = await openSite();
    const cookie = await site.signIn('team');
    const theirs = await addRun(site, 'local');
    const bodies: string[] = [];
    for (const id of [theirs, newTraceId(), 'x', '%3Cscript%3E', 'A'.repeat(32)]) {
      const reply = await site.browse(`/traces/${id}`, { cookie });
      expect([id, reply.status]).toEqual([id, 404]);
      bodies.push(parseHtml(reply.text).text.replaceAll(id, ''));
    }
    expect(bodies[0]).toBe(bodies[1]);
  });

  it('sees the runs of its own account alone', async () => {
    const site = await openSite();
    const ours = await addRun(site, 'team');
    await addRun(site, 'local');
    const reply = await site.browse('/v1/traces', { cookie: await site.signIn('team') });
    expect((reply.json as TraceList).data.map(({ trace_id }) => trace_id)).toEqual([ours]);
  });

  it('reads the data of its account with the cookie', async () => {
    const site = await openSite();
    const cookie = await site.signIn();
    const ours = await addRun(site);
    const theirs = await addRun(site, 'team');
    const reply = await site.browse(`/v1/traces/${ours}`, { cookie });
    expect([reply.status, reply.json]).toMatchObject([200, { trace_id: ours }]);
    expect((await site.browse(`/v1/traces/${theirs}`, { cookie })).status).toBe(404);
    expect((await site.browse(`/v1/traces/${ours}`)).status).toBe(401);
  });

  it('reads a trace with its events, in replies of some size', async () => {
    const site = await openSite();
    const cookie = await site.signIn();
    const big = 'x'.repeat(100_000);
    const logs = Array.from(
      { length: 40 },
      (): EventBody => ({ type: 'log', level: 'info', logger: 'test', message: big }),
    );
    const ours = await site.addTrace(logs);
    const seqs: number[] = [];
    let replies = 0;
    for (let after: number | null = 0; after !== null; replies++) {
      const { json }: Reply = await site.browse(`/data/traces/${ours}?after=${after}`, { cookie });
      const data = json as TraceData;
      expect(data.trace?.trace_id).toBe(after === 0 ? ours : undefined);
      seqs.push(...data.events.map(({ seq }) => seq));
      after = data.next;
    }
    expect(seqs).toEqual(Array.from({ length: 41 }, (_, index) => index + 1));
    expect(replies).toBe(3);
    const theirs = await addRun(site, 'team');
    expect((await site.browse(`/data/traces/${theirs}`, { cookie })).status).toBe(404);
    expect((await site.browse(`/data/traces/${ours}`)).status).toBe(401);
    const withKey = await site.request(`/data/traces/${ours}`);
    expect([withKey.status, withKey.json]).toMatchObject([401, { error: { code: 'invalid_api_key' } }]);
  });

  it('changes nothing with the cookie alone, or with the token of another page', async () => {
    const site = await openSite();
    const cookie = await site.signIn();
    const other = tokenOf((await site.browse('/', { cookie: await site.signIn() })).text);
    const ours = await addRun(site);
    const body = JSON.stringify({ env_name: 'counter', scenario_name: 'count_to', model: 'proctor/oracle' });
    const statuses = async (more: Readonly<Record<string, string>>) => {
      const headers = { 'content-type': 'application/json', origin: site.url, ...more };
      const changes = [
        await site.browse('/v1/agent/run', { method: 'POST', cookie, headers, body }),
        await site.browse(`/v1/traces/${ours}/cancel`, { method: 'POST', cookie, headers }),
        await site.browse(`/v1/traces/${ours}`, { method: 'DELETE', cookie, headers }),
      ];
      return changes.map(({ status }) => status);
    };
    expect(await statuses({})).toEqual([401, 401, 401]);
    expect(await statuses({ 'x-csrf-token': 'made-up' })).toEqual([403, 403, 403]);
    expect(await statuses({ 'x-csrf-token': other })).toEqual([403, 403, 403]);
    expect(await site.countRuns()).toBe(1);
  });

  it('changes what is of its account with the token of its page', async () => {
    const site = await openSite();
    const cookie = await site.signIn('team');
    const headers = { origin: site.url, 'x-csrf-token': tokenOf((await site.browse('/', { cookie })).text) };
    const [ours, theirs] = [await addRun(site, 'team'), await addRun(site, 'local')];
    const remove = async (traceId: string) =>
      (await site.browse(`/v1/traces/${traceId}`, { method: 'DELETE', cookie, headers })).status;
    expect([await remove(theirs), await remove(ours), await remove(ours)]).toEqual([404, 204, 404]);
  });

  it('is led on from the sign-in form', async () => {
    const site = await openSite();
    const reply = await site.browse('/sign-in', { cookie: await site.signIn() });
    expect([reply.status, reply.headers.location]).toEqual([303, '/']);
  });
});

it('HEAD answers as GET does, without a body', async () => {
  const site = await openSite();
  const cookie = await site.signIn();
  const traceId = await addRun(site);
  const { script, stylesheet } = builtAssets();
  for (const path of ['/', `/traces/${traceId}`, `/traces/${newTraceId()}`, '/usage', script, stylesheet, '/sign-in']) {
    for (const who of [{}, { cookie }]) {
      const get = await site.browse(path, who);
      const head = await site.browse(path, { ...who, method: 'HEAD' });
      expect([path, head.status, head.headers['content-length'], head.text]).toEqual([
        path,
        get.status,
        get.headers['content-length'],
        '',
      ]);
    }
  }
});

it('script and style are for everybody, for ever, and packed where the browser takes that', async () => {
  const site = await openSite();
  for (const path of [builtAssets().script, builtAssets().stylesheet]) {
    const plain = await site.browse(path);
    const packed = await site.browse(path, { headers: { 'accept-encoding': 'gzip, br' } });
    expect([plain.status, plain.headers['content-encoding']]).toEqual([200, undefined]);
    expect(plain.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect([packed.status, packed.headers['content-encoding']]).toEqual([200, 'gzip']);
    expect(Number(packed.headers['content-length'])).toBeLessThan(Number(plain.headers['content-length']) / 2);
    expect(path).toMatch(/^\/assets\/app-[\w-]{8}\.(js|css)$/);
  }
});

/** As the build writes it down. */
interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly isDynamicEntry?: boolean;
  readonly imports?: readonly string[];
}

it('the script of the first load is 60 KB at most, packed, whichever page it is', () => {
  const scripts = [...builtAssets().files].filter(([name]) => name.endsWith('.js'));
  const manifest: Readonly<Record<string, Chunk>> = JSON.parse(readFileSync('dist/web/app/manifest.json', 'utf8'));
  const start = Object.keys(manifest).find((name) => manifest[name]?.isEntry);
  // Of a part that is loaded where it is asked for, with all that it needs.
  const neededBy = (name: string, known = new Set<string>()): ReadonlySet<string> => {
    if (known.has(name)) return known;
    known.add(name);
    for (const other of manifest[name]?.imports ?? []) neededBy(other, known);
    return known;
  };
  const bytesOf = (name: string) =>
    [...neededBy(name, new Set(neededBy(String(start))))]
      .map((each) => builtAssets().files.get(manifest[each]?.file.replace('assets/', '') ?? '')?.gzip.length ?? 0)
      .reduce((sum, bytes) => sum + bytes, 0);
  const parts = Object.keys(manifest).filter((name) => manifest[name]?.isDynamicEntry);
  expect(parts.map((name) => name.split('/').at(-1)).sort()).toEqual([
    'check-page.tsx',
    'checks-page.tsx',
    'compare-evaluations-page.tsx',
    'compare-page.tsx',
    'environment-page.tsx',
    'environments-page.tsx',
    'evaluation-figures.tsx',
    'evaluation-links.tsx',
    'evaluation-page.tsx',
    'evaluations-page.tsx',
    'job-page.tsx',
    'model-page.tsx',
    'models-page.tsx',
    'playground-page.tsx',
    'regrade-page.tsx',
    'repetitions.tsx',
    'task-dialog.tsx',
    'training-page.tsx',
    'usage-page.tsx',
  ]);
  const sizes = Object.fromEntries(parts.map((name) => [name, bytesOf(name)]));
  expect(Object.values(sizes).every((bytes) => bytes > 40 * 1024)).toBe(true);
  expect(Object.entries(sizes).filter(([, bytes]) => bytes >= 60 * 1024)).toEqual([]);
  // A development build would carry the paths of the machine that made it.
  for (const [, { bytes }] of scripts) expect(Buffer.from(bytes).toString()).not.toMatch(/\.tsx\b|jsxDEV/);
});

it('a path that is unknown is a page with the ways on for a browser, and the JSON error for all others', async () => {
  const site = await openSite();
  const cookie = await site.signIn();
  const asBrowser = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
  for (const path of ['/nowhere', '/environments/', '//', '/v1/nothing', '/%zz', '/traces/unknown']) {
    const page = await site.browse(path, { cookie, headers: asBrowser });
    expect([path, page.status, page.headers['content-type']]).toEqual([path, 404, 'text/html; charset=utf-8']);
    for (const link of ['/', '/evaluations', '/environments', '/usage']) expect(page.text).toContain(`href="${link}"`);
  }
  const planted = await site.browse('/<script>', { cookie, headers: asBrowser });
  expect(planted.text).not.toContain('<script>');
  const runs = await site.browse('/runs?env_name=counter', { cookie, headers: asBrowser });
  expect([runs.status, runs.headers.location]).toEqual([303, '/?env_name=counter']);
  expect((await site.browse('/traces', { cookie, headers: asBrowser })).headers.location).toBe('/');
  const signedOut = await site.browse('/nowhere', { headers: asBrowser });
  expect([signedOut.status, signedOut.text]).toMatchObject([401, expect.stringContaining('Sign in')]);
  for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.9', undefined]) {
    const reply = await site.request('/runs', { headers: accept === undefined ? {} : { accept } });
    expect([accept, reply.status, reply.json]).toMatchObject([accept, 404, { error: { code: 'unknown_url' } }]);
  }
  const post = await site.request('/nowhere', { method: 'POST', headers: asBrowser });
  expect([post.status, post.json]).toMatchObject([404, { error: { code: 'unknown_url' } }]);
});

it('a page of a row that is not there, or of another account, is 404 and says so; one that is there is shown', async () => {
  const site = await openSite();
  const models = new RegisteredModels(site.database);
  const model = { target: 'gpt', base: null, gateway: null, head: null, checkpoints: [] };
  await models.add('local', { ...model, name: 'ours' });
  await models.add('other', { ...model, name: 'theirs' });
  const cookie = await site.signIn();
  for (const [path, kind] of [
    ['/evaluations/eval_none', 'evaluation'],
    ['/checks/check_none', 'check'],
    ['/models/none', 'registered model'],
    ['/models/theirs', 'registered model'],
    ['/training/job_none', 'training job'],
    ['/regrades/job_none', 'regrade'],
  ] as const) {
    const page = await site.browse(path, { cookie });
    expect([path, page.status, page.text]).toEqual([path, 404, expect.stringContaining(`There is no ${kind} `)]);
  }
  for (const path of ['/models/ours', '/models', '/evaluations', '/checks']) {
    expect([path, (await site.browse(path, { cookie })).status]).toEqual([path, 200]);
  }
});

it('other methods and paths get the JSON error', async () => {
  const site = await openSite();
  const post = await site.browse('/', { method: 'POST', headers: { origin: site.url } });
  expect([post.status, post.json]).toMatchObject([405, { error: { code: 'method_not_allowed' } }]);
  for (const path of ['/assets/other.css', '/assets/..%2f..%2fpackage.json', '/assets/app.js.gz']) {
    const unknown = await site.request(path);
    expect([path, unknown.status, unknown.json]).toMatchObject([path, 404, { error: { code: 'unknown_url' } }]);
  }
});

it('the document holds nothing of a run, only who is signed in', async () => {
  const site = await openSite();
  const cookie = await site.signIn('team');
  const traceId = await addRun(site, 'team');
  const { text } = await site.browse(`/traces/${traceId}`, { cookie });
  expect(parseHtml(text).text).toContain('These pages need JavaScript');
  expect(text).toContain('data-account="team" data-runs-path="/"');
  expect(text).not.toContain('desk');
});

function tokenOf(html: string): string {
  return /data-csrf="([^"]+)"/.exec(html)?.[1] ?? '';
}
