import { describe, expect, it } from 'vitest';
import { newTrace, newTraceId } from '../trace/events.ts';
import { attributesOf, parseHtml } from './html.ts';
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
    const theirs = await addRun(site, 'local');
    const links = attributesOf(
      parseHtml((await site.browse('/', { cookie: await site.signIn('team') })).text),
      'a',
      'href',
    );
    expect(links).toContain(`/traces/${ours}`);
    expect(links).not.toContain(`/traces/${theirs}`);
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

  it('changes nothing with the cookie alone', async () => {
    const site = await openSite();
    const cookie = await site.signIn();
    const ours = await addRun(site);
    const body = JSON.stringify({ env_name: 'counter', scenario_name: 'count_to', model: 'proctor/oracle' });
    const headers = { 'content-type': 'application/json', origin: site.url };
    const changes = [
      await site.browse('/v1/agent/run', { method: 'POST', cookie, headers, body }),
      await site.browse(`/v1/traces/${ours}/cancel`, { method: 'POST', cookie, headers }),
      await site.browse(`/v1/traces/${ours}`, { method: 'DELETE', cookie, headers }),
    ];
    expect(changes.map(({ status }) => status)).toEqual([401, 401, 401]);
    expect(await site.countRuns()).toBe(1);
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
  for (const path of ['/', `/traces/${traceId}`, `/traces/${newTraceId()}`, '/assets/style.css', '/sign-in']) {
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

it('the style sheet is for everybody, and other methods and paths get the JSON error', async () => {
  const site = await openSite();
  const style = await site.browse('/assets/style.css');
  expect([style.status, style.headers['content-type']]).toEqual([200, 'text/css; charset=utf-8']);
  const post = await site.browse('/', { method: 'POST', headers: { origin: site.url } });
  expect([post.status, post.json]).toMatchObject([405, { error: { code: 'method_not_allowed' } }]);
  const unknown = await site.request('/assets/other.css');
  expect([unknown.status, unknown.json]).toMatchObject([404, { error: { code: 'unknown_url' } }]);
});
