import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { calls, says } from '../../gateway.ts';
import { Script } from '../../processes.ts';
import { type Reply, send } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { counting, errorOf, finishedOf, serve, sessionsOf, svcOf } from './server.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 120_000 });

async function openStore() {
  const directory = await mkdtemp(join(tmpdir(), 'proctor-restart-'));
  const url = `sqlite:${join(directory, 'proctor.db')}`;
  const open = async () => {
    const database = await openDatabase(url);
    onTestFinished(() => database.close());
    return { database, store: createTraceStore(database, { appUrl: 'https://app.example' }) };
  };
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return { url, open };
}

async function startHeldServer(url: string) {
  const script = new Script(new URL('./fixtures/held-server.ts', import.meta.url), [url]);
  await script.said(1);
  const address = script.lines[0] ?? '';
  const post = (path: string, body?: object): Promise<Reply> =>
    send(address, path, {
      method: 'POST',
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
  const chat = (scenario: string) =>
    post('/v1/chat/completions', { messages: [{ role: 'user', content: 'Go.' }], scenario, scenario_args: {} });
  return { script, address, post, chat };
}

it('after kill -9 results are kept, and active sessions are failed with a clear error, which their traces say too', async () => {
  const { url, open } = await openStore();
  const killed = await startHeldServer(url);
  const finished = svcOf(await killed.chat('play'));
  const result = await killed.post(`/v1/sessions/${finished.session_id}/finish`);
  expect(finishedOf(result)).toMatchObject({ reward: 1, status: 'finished' });
  const idle = svcOf(await killed.chat('play'));
  const inATurn = killed.chat('hang').catch(() => 'cut');
  const listed = async () => sessionsOf(await send(killed.address, '/v1/sessions'));
  await until(async () => (await listed()).length === 2);
  const busyId = (await listed()).map(({ session_id }) => session_id).find((id) => id !== idle.session_id) ?? '';
  await killed.script.kill();
  expect(await inATurn).toBe('cut');

  const server = await serve(await open());
  const all = sessionsOf(await server.get('/v1/sessions?status=all'));
  expect(all.map(({ session_id, status }) => [session_id, status])).toEqual([
    [finished.session_id, 'finished'],
    [idle.session_id, 'failed'],
    [busyId, 'failed'],
  ]);
  expect(sessionsOf(await server.get('/v1/sessions'))).toEqual([]);
  expect((await server.post(`/v1/sessions/${finished.session_id}/finish`)).json).toEqual({
    ...finishedOf(result),
    trace_url: `https://app.example/traces/${finished.trace_id}`,
  });
  for (const { session_id, trace_id } of all.slice(1)) {
    const turn = await server.chat('More.', { thread_id: session_id });
    expect(errorOf(turn)).toEqual([409, 'session_finished', null]);
    expect(turn.text).toContain('its environment is gone');
    expect(errorOf(await server.post(`/v1/sessions/${session_id}/finish`))).toEqual([409, 'session_finished', null]);
    expect(errorOf(await server.remove(`/v1/sessions/${session_id}`))).toEqual([409, 'session_finished', null]);
    expect(await server.store.trace(trace_id)).toMatchObject({
      status: 'failed',
      stop_reason: 'error',
      reward: null,
      finished_at: expect.any(String),
      error: { message: expect.stringContaining('its environment is gone') },
    });
  }
  expect(all[1]).toMatchObject({ turns: 1, steps: 1, scenario: 'play', model: 'proctor/oracle' });
});

it('a server that is alive on the same store keeps its sessions when another one starts', async () => {
  const { url, open } = await openStore();
  const other = await startHeldServer(url);
  const theirs = svcOf(await other.chat('play'));
  const server = await serve(await open());
  const own = svcOf(await server.chat('Go.', counting(0)));
  expect(errorOf(await server.chat('More.', { thread_id: theirs.session_id }))).toEqual([
    409,
    'session_conflict',
    null,
  ]);
  expect(errorOf(await server.remove(`/v1/sessions/${theirs.session_id}`))).toEqual([409, 'session_conflict', null]);
  const all = sessionsOf(await server.get('/v1/sessions?status=all'));
  expect(all.map(({ session_id, status }) => [session_id, status])).toEqual([
    [theirs.session_id, 'active'],
    [own.session_id, 'active'],
  ]);
  expect((await other.post(`/v1/sessions/${theirs.session_id}/finish`)).json).toMatchObject({ reward: 1 });
  expect((await server.post(`/v1/sessions/${theirs.session_id}/finish`)).json).toMatchObject({ reward: 1 });
  expect((await server.post(`/v1/sessions/${own.session_id}/finish`)).json).toMatchObject({ reward: 1 });
});

it('a server on another machine that has not been heard of for a minute is gone, and one that has is not', async () => {
  const { url, open } = await openStore();
  const other = await startHeldServer(url);
  const ids = [svcOf(await other.chat('play')).session_id, svcOf(await other.chat('play')).session_id];
  await other.script.kill();
  const { database, store } = await open();
  for (const [index, id] of ids.entries()) {
    const server = JSON.stringify({ host: 'another-machine', pid: 1, id: 'scenarios_1_00000000' });
    await database.kysely
      .updateTable('chat_sessions')
      .set({ server, seen_at: Date.now() - index * 61_000 })
      .where('session_id', '=', id)
      .execute();
  }
  const server = await serve({ database, store });
  const all = sessionsOf(await server.get('/v1/sessions?status=all'));
  expect(all.map(({ session_id, status }) => [session_id, status])).toEqual([
    [ids[0], 'active'],
    [ids[1], 'failed'],
  ]);
});

it('a server that was closed leaves no session active: what it could not finish is failed, what was finished stays', async () => {
  const { open } = await openStore();
  const parts = await open();
  const server = await serve({ ...parts, plays: [says('Done.'), calls(['increment', { by: 1 }]), says('One.')] });
  const finished = svcOf(await server.chat('Go.', counting(0)));
  const result = await server.post(`/v1/sessions/${finished.session_id}/finish`);
  const idle = svcOf(await server.chat('Go.', counting(1)));
  await server.server.close();
  expect(await parts.store.trace(idle.trace_id)).toMatchObject({
    status: 'failed',
    error: { code: 'shutting_down', message: expect.stringContaining('shut down') },
  });
  const again = await serve(parts);
  expect((await again.post(`/v1/sessions/${finished.session_id}/finish`)).json).toEqual(result.json);
  expect((await again.get(`/v1/sessions/${idle.session_id}`)).json).toMatchObject({
    status: 'failed',
    turns: 1,
    steps: 2,
  });
  const refused = await again.chat('More.', { thread_id: idle.session_id });
  expect(errorOf(refused)).toEqual([409, 'session_finished', null]);
  expect(refused.text).toContain('shut down');
});
