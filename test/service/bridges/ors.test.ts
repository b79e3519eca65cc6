import { describe, expect, it } from 'vitest';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { createRoom, type RoomLog } from '../../rollout/seats/environment.ts';
import { send } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { TROUBLE } from '../runs/service.ts';
import { readCall } from './ors-client.ts';
import { serveOrs } from './ors-server.ts';

const TARGET_2 = { task_spec: { target: 2 } };
const received = [{ text: 'received', detail: null, type: 'text' }];

describe('an ORS session', () => {
  it('plays a scenario by calls, gets the reward by submit_answer, and is a trace as of any session', async () => {
    const { client, traces } = await serveOrs();
    const sid = await client.create({ env_name: 'COUNT_TO', ...TARGET_2 });
    const prompt = await client.get('/count_to/prompt', sid);
    expect(prompt.json).toEqual([{ text: expect.stringContaining('2'), detail: null, type: 'text' }]);
    const { json: listed } = await client.get('/count_to/task_tools', sid);
    expect(namesOf(listed)).toEqual(expect.arrayContaining(['increment', 'submit_answer']));
    const call = await client.call(sid, 'increment', { by: 2 });
    expect(call.events.map(({ event }) => event)).toEqual(['task_id', 'end']);
    expect(call.result).toEqual({
      ok: true,
      output: { blocks: [{ text: '2', detail: null, type: 'text' }], metadata: null, reward: null, finished: false },
    });
    const end = await client.call(sid, 'submit_answer', { answer: '2' });
    expect(end.result).toEqual({ ok: true, output: { blocks: received, metadata: null, reward: 1, finished: true } });
    expect(await client.call(sid, 'increment')).toMatchObject({ result: { ok: false, error: expect.any(String) } });
    expect((await client.post('/delete', {}, sid)).json).toEqual({ sid });
    expect((await client.post('/delete_session', {}, sid)).json).toEqual({ sid });
    expect(await traces()).toMatchObject([
      {
        origin: 'ors',
        model: 'external',
        status: 'completed',
        stop_reason: 'answered',
        reward: 1,
        answer: '2',
        steps: [{ message: { tool_calls: [{ name: 'increment' }] }, tool_results: [{ name: 'increment' }] }],
      },
    ]);
  });

  it('that is deleted before its answer is abandoned without an evaluation; its id is gone', async () => {
    const { client, traces } = await serveOrs();
    const sid = await client.create(TARGET_2);
    await client.call(sid, 'increment', { by: 2 });
    expect((await client.post('/delete', {}, sid)).status).toBe(200);
    expect(await traces()).toMatchObject([{ status: 'cancelled', stop_reason: 'abandoned', evaluation: null }]);
    const reply = await client.post('/ping', {}, sid);
    expect([reply.status, reply.json]).toEqual([410, { detail: 'Session deleted' }]);
  });

  it('that nobody was heard of expires without an evaluation', async () => {
    const { client, traces } = await serveOrs({ sessionTtlMs: 30, limits: { lookEveryMs: 5 } });
    const sid = await client.create(TARGET_2);
    await until(async () => (await traces())[0]?.status === 'cancelled');
    expect(await traces()).toMatchObject([{ stop_reason: 'expired', evaluation: null }]);
    await until(async () => (await client.post('/ping', {}, sid)).status === 410);
  });

  it('over the cap is refused with 503 and retry-after, and fits once another was deleted', async () => {
    const { client } = await serveOrs({ maxSessions: 1 });
    const first = await client.create(TARGET_2);
    const sid = await client.newId();
    const refused = await client.post('/create', TARGET_2, sid);
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '10']);
    expect(refused.json).toEqual({ detail: expect.stringContaining('1 session') });
    await client.post('/delete', {}, first);
    expect((await client.post('/create', TARGET_2, sid)).status).toBe(200);
  });

  it('takes one task, by its arguments or by split and index, and refuses the rest', async () => {
    const { client } = await serveOrs();
    const sid = await client.newId();
    const create = async (body: object) => (await client.post('/create', body, sid)).status;
    expect(await create({})).toBe(422);
    expect(await create({ ...TARGET_2, split: 'train', index: 0 })).toBe(422);
    expect(await create({ ...TARGET_2, extra: 1 })).toBe(422);
    expect(await create({ split: 'nope', index: 0 })).toBe(400);
    expect(await create({ split: 'train', index: 99 })).toBe(400);
    expect(await create({ env_name: 'nope', ...TARGET_2 })).toBe(404);
    const bad = await client.post('/create', { task_spec: { target: 'x' } }, sid);
    expect([bad.status, bad.json]).toEqual([400, { detail: expect.stringContaining('target') }]);
    expect((await client.post('/create', TARGET_2)).json).toEqual({ detail: 'X-Session-ID header is required' });
    expect(await create({ split: 'train', index: -1 })).toBe(200);
    expect((await client.post('/create', TARGET_2, sid)).json).toEqual({ detail: 'Session already exists' });
    expect((await client.get('/count_to/prompt', 'unknown')).status).toBe(404);
  });

  it('never reaches setup, evaluation or solutions, by any name', async () => {
    const { client, traces } = await serveOrs();
    const sid = await client.create(TARGET_2);
    for (const name of ['setup', 'evaluate', 'solution', 'evaluation', 'count_to', '__proto__', 'svc://scenarios']) {
      const { result } = await client.call(sid, name, { name: 'count_to', answer: '2' });
      expect(result, name).toEqual({ ok: false, error: expect.stringContaining('There is no tool') });
    }
    const everything = [await client.get('/count_to/tools'), await client.get('/count_to/task_tools', sid)];
    for (const { json } of everything)
      expect(namesOf(json).filter((name) => /^(setup|evaluat|solution)/.test(name))).toEqual([]);
    expect((await client.call(sid, 'submit_answer', { answer: '0' })).result).toMatchObject({ output: { reward: 0 } });
    expect((await traces())[0]?.steps).toEqual([]);
  });

  it('tells errors of tools as results, and bad arguments as failures', async () => {
    const { client } = await serveOrs({ environments: new Map([['room', createRoom()]]) });
    const sid = await client.create({ env_name: 'plain', task_spec: {} });
    const died = await client.call(sid, 'die', {}, 'plain');
    expect(died.result).toMatchObject({ ok: true, output: { blocks: [{ text: expect.stringMatching(/^Error: /) }] } });
    const odd = await client.call(sid, 'submit_answer', { answer: 1, more: 2 }, 'plain');
    expect(odd.result).toMatchObject({ ok: false });
    const hidden = await client.call(sid, 'hidden', {}, 'plain');
    expect(hidden.result).toMatchObject({ ok: false, error: expect.stringContaining('There is no tool') });
    const counter = await serveOrs();
    const counting = await counter.client.create(TARGET_2);
    expect((await counter.client.call(counting, 'increment', { by: 'x' })).result).toMatchObject({ ok: false });
  });

  it('whose environment dies in a call tells it as a failure of the call, and its trace has failed', async () => {
    const { client, traces } = await serveOrs({ environments: new Map([['trouble', TROUBLE]]) });
    const sid = await client.create({ env_name: 'exits_in_a_tool', task_spec: {} });
    const { events, result } = await client.call(sid, 'leave', {}, 'exits_in_a_tool');
    expect(events.map(({ event }) => event)).toEqual(['task_id', 'end']);
    expect(result).toEqual({ ok: false, error: expect.stringContaining('ended without a reward') });
    expect(await traces()).toMatchObject([{ status: 'failed', error: { boundary: 'environment' } }]);
    const late = await client.call(sid, 'submit_answer', { answer: 'x' }, 'exits_in_a_tool');
    expect(late.result).toMatchObject({ ok: false });
  });

  it('that has used up its calls is evaluated, and its last call tells the reward', async () => {
    const { client, traces } = await serveOrs({ limits: { maxCalls: 4 } });
    const sid = await client.create(TARGET_2);
    const together = await Promise.all([1, 2].map(() => client.call(sid, 'increment', { by: 0 })));
    for (const { result } of together) expect(result).toMatchObject({ output: { reward: null, finished: false } });
    await client.call(sid, 'increment');
    expect((await client.call(sid, 'increment')).result).toMatchObject({ output: { reward: 1, finished: true } });
    expect(await traces()).toMatchObject([{ status: 'completed', stop_reason: 'max_steps' }]);
  });

  it('whose setup fails answers 500 where it is waited for', async () => {
    const { client, traces } = await serveOrs({ environments: new Map([['room', createRoom()]]) });
    const sid = await client.create({ env_name: 'broken', task_spec: {} });
    const reply = await client.get('/broken/prompt', sid);
    expect([reply.status, reply.json]).toEqual([500, { detail: expect.stringContaining('no such floor') }]);
    expect(await traces()).toMatchObject([{ status: 'failed', error: { boundary: 'setup' } }]);
  });
});

describe('a call', () => {
  it('goes on without its client, which gets the result by its id; another session does not', async () => {
    const log: RoomLog = { events: [], opened: 0 };
    let letGo = () => {};
    const waiting = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const room = createRoom(log, () => waiting);
    const { client, server } = await serveOrs({ environments: new Map([['room', room]]), limits: { heartbeatMs: 5 } });
    const sid = await client.create({ env_name: 'plain', task_spec: {} });
    const other = await client.create({ env_name: 'plain', task_spec: {} });
    const leaving = new AbortController();
    const reply = await fetch(`${server.url}/plain/call`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-session-id': sid },
      body: JSON.stringify({ name: 'wait', input: {} }),
      signal: leaving.signal,
    });
    const reader = reply.body?.getReader();
    let seen = '';
    while (!seen.includes(': ping')) seen += new TextDecoder().decode((await reader?.read())?.value);
    const id = /data: (\w+)/.exec(seen)?.[1] ?? '';
    leaving.abort();
    const again = { name: 'wait', input: {}, task_id: id };
    const foreign = readCall((await client.post('/plain/call', again, other)).text);
    expect(foreign.events).toEqual([{ event: 'error', data: 'unknown task_id' }]);
    const note = await client.call(sid, 'note', {}, 'plain');
    expect(note.result).toMatchObject({ ok: true });
    letGo();
    const { events, result } = readCall((await client.post('/plain/call', again, sid)).text);
    expect(events[0]).toEqual({ event: 'task_id', data: id });
    expect(result).toMatchObject({ ok: true, output: { blocks: [{ text: 'waited' }] } });
    expect(log.events).not.toContain('aborted');
  });

  it('gives long results in pieces that no client strips', async () => {
    const text = `${' '.repeat(9_000)}\u00a0\u2003${'\u2028'.repeat(10)}${'😀'.repeat(5_000)}`;
    const { EnvironmentServer } = await import('proctor');
    const env = inMemory(() => {
      const server = new EnvironmentServer({ name: 'wide' });
      server.tool('tell', {}, () => text);
      server.scenario('plain', {}, async function* () {
        yield 'Ask.';
        return 1;
      });
      return server;
    });
    const { client } = await serveOrs({ environments: new Map([['wide', env]]) });
    const sid = await client.create({ task_spec: {} });
    const { events, result } = await client.call(sid, 'tell', {}, 'plain');
    expect(result).toMatchObject({ output: { blocks: [{ text }] } });
    expect(Math.max(...events.map(({ data }) => data.length))).toBeLessThanOrEqual(4_096);
  });
});

describe('an ORS server', () => {
  it('lists environments, tools, splits and tasks, and redirects what names no environment', async () => {
    const { client } = await serveOrs();
    expect((await client.get('/list_environments')).json).toEqual(expect.arrayContaining(['count_to']));
    expect((await client.get('/health')).json).toEqual({ status: 'ok' });
    expect((await client.get('/count_to/splits')).json).toEqual([
      { name: 'train', type: 'train' },
      { name: 'validation', type: 'validation' },
      { name: 'test', type: 'test' },
    ]);
    const { json: tasks } = await client.post('/count_to/tasks', { split: 'test' });
    expect(tasks).toEqual({
      tasks: [
        { target: 42 },
        { target: 7_919 },
        { target: Number.MAX_SAFE_INTEGER },
        { target: 1_000_000 },
        { target: 7 },
      ],
      env_name: 'count_to',
    });
    expect((await client.post('/count_to/num_tasks', { split: 'test' })).json).toEqual({ num_tasks: 5 });
    expect((await client.post('/count_to/task', { split: 'test', index: 0 })).json).toEqual({ task: { target: 42 } });
    const range = await client.post('/count_to/task_range', { split: 'test', start: -2 });
    expect(range.json).toEqual({ tasks: [{ target: 1_000_000 }, { target: 7 }] });
    const redirects = [await client.get('/nowhere/tools?x=1'), await client.get('/tools')];
    expect(redirects.map(({ status, headers }) => [status, headers.location])).toEqual([
      [308, '/count_to/nowhere/tools?x=1'],
      [308, '/count_to/tools'],
    ]);
    expect((await client.get('/count_to/nothing')).json).toEqual({ detail: expect.stringContaining('Unknown URL') });
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json']) {
      expect((await client.get(path)).status, path).toBe(200);
    }
  });

  it('asks for its key, as X-API-Key or as a bearer token, and refuses foreign hosts in its own form', async () => {
    const { client, server } = await serveOrs({ apiKey: 'key-of-ors' });
    expect((await client.get('/list_environments')).status).toBe(200);
    const ask = (headers: Readonly<Record<string, string>>) => send(server.url, '/list_environments', { headers });
    expect((await ask({ authorization: 'Bearer key-of-ors' })).status).toBe(200);
    const refused = await ask({ 'x-api-key': 'other' });
    expect([refused.status, refused.json]).toEqual([401, { detail: expect.any(String) }]);
    expect(refused.headers['x-request-id']).toBeDefined();
    expect((await ask({})).status).toBe(401);
    expect((await ask({ host: 'evil.example', 'x-api-key': 'key-of-ors' })).status).toBe(403);
  });

  it('ends its sessions as failed when it stops', async () => {
    const { client, server, traces } = await serveOrs();
    const sid = await client.create(TARGET_2);
    await client.call(sid, 'increment');
    await server.close();
    expect(await traces()).toMatchObject([{ status: 'failed', error: { code: 'shutting_down' } }]);
  });
});

function namesOf(listed: unknown): readonly string[] {
  return (listed as { readonly tools: readonly { readonly name: string }[] }).tools.map(({ name }) => name);
}
