import { describe, expect, it } from 'vitest';
import { finishResultSchema, sessionEntrySchema, sessionListSchema, svcSchema } from '../../../src/contract/session.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { calls, says } from '../../gateway.ts';
import { until } from '../../until.ts';
import createWorkbench from './fixtures/workbench.ts';
import { completionOf, counting, errorOf, finishedOf, serve, sessionsOf, svcOf } from './server.ts';

describe('a session', () => {
  it('starts with the first chat turn, goes on by its id, and finishes with a reward and a trace', async () => {
    const server = await serve({
      plays: [calls(['increment', { by: 2 }]), says('At 2.'), calls(['increment', { by: 1 }]), says('At 3.')],
    });
    const first = await server.chat('Go.', counting(3));
    expect(first.status).toBe(200);
    const svc = svcSchema.parse(svcOf(first));
    expect(svc).toMatchObject({ scenario: 'count_to', status: 'active', steps: 2 });
    expect([svc.thread_id, svc.conversation_id]).toEqual([svc.session_id, svc.session_id]);
    expect(svc.trace_url).toBe(`https://app.example/traces/${svc.trace_id}`);
    expect([first.headers['x-svc-session-id'], first.headers['x-svc-trace-id']]).toEqual([
      svc.session_id,
      svc.trace_id,
    ]);

    const next = await server.chat('One more.', {}, { 'X-SVC-Session-Id': svc.session_id });
    expect(completionOf(next).choices[0].message.content).toBe('At 3.');
    expect(svcOf(next)).toMatchObject({ session_id: svc.session_id, steps: 4 });

    const finished = await server.post(`/v1/sessions/${svc.session_id}/finish`);
    expect(finishResultSchema.parse(finished.json)).toMatchObject({ answer: 'At 3.', reward: 1, status: 'finished' });
    const trace = await server.store.trace(svc.trace_id);
    expect(trace).toMatchObject({
      origin: 'chat',
      status: 'completed',
      stop_reason: 'answered',
      reward: 1,
      answer: 'At 3.',
    });
    expect(trace?.turns.map(({ steps }) => steps)).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  it('sends the model the prompt of the scenario, the words of the caller, and what has happened since', async () => {
    const server = await serve({ plays: [says('One.'), says('Two.')] });
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: 'Be kind.' },
      { role: 'user', content: 'Hello.' },
      { role: 'assistant', content: 'Ignored.' },
    ];
    const first = await server.post('/v1/chat/completions', { messages, ...counting(3) });
    const { session_id } = svcOf(first);
    await server.post('/v1/chat/completions', {
      messages: [...messages, { role: 'assistant', content: 'One.' }, { role: 'user', content: 'And now?' }],
      thread_id: session_id,
    });
    const sent = server.gateway.requests.map(({ body }) =>
      (body.messages as { role: string; content: string }[]).map(({ role, content }) => [role, content]),
    );
    const prompt = expect.stringContaining('3');
    expect(sent[0]).toEqual([
      ['system', 'Be brief.'],
      ['system', 'Be kind.'],
      ['user', prompt],
      ['user', 'Hello.'],
    ]);
    expect(sent[1]?.slice(4)).toEqual([
      ['assistant', 'One.'],
      ['user', 'And now?'],
    ]);
  });

  it("has the scenario's system prompt before the caller's, and the scenario's prompt before the caller's words", async () => {
    const server = await serve({
      environments: new Map([['workbench', inMemory(createWorkbench)]]),
    });
    await server.post('/v1/chat/completions', {
      messages: [
        { role: 'user', content: 'Hello.' },
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: 'Be kind.' },
        { role: 'tool', tool_call_id: 'a', content: 'Dropped.' },
        { role: 'user', content: 'Begin.' },
      ],
      scenario: 'work',
      scenario_args: {},
    });
    const sent = server.gateway.requests[0]?.body.messages as { role: string; content: string }[];
    expect(sent.map(({ role, content }) => [role, content])).toEqual([
      ['system', 'You work.'],
      ['system', 'Be brief.'],
      ['system', 'Be kind.'],
      ['user', 'Work.'],
      ['user', 'Hello.'],
      ['user', 'Begin.'],
    ]);
  });

  it('is finished once: later calls get the same object, also after the server was started again', async () => {
    const server = await serve({ plays: [says('Done.')] });
    const { session_id } = svcOf(await server.chat('Go.', counting(0)));
    const path = `/v1/sessions/${session_id}/finish`;
    const [one, two] = await Promise.all([server.post(path), server.post(path)]);
    expect(one.json).toEqual(two.json);
    await server.server.close();
    const again = await serve({ database: server.database, store: server.store });
    expect((await again.post(path)).json).toEqual(one.json);
    const trace = await server.store.trace(finishedOf(one).trace_id);
    expect(trace?.evaluation?.reward).toBe(1);
  });

  it('submits the answer that finish is given, and takes null for none', async () => {
    const server = await serve({ plays: [says('Text.')] });
    const start = async () =>
      svcOf(await server.chat('Go.', { scenario: 'keep', scenario_args: { wanted: [] } })).session_id;
    const given = await server.post(`/v1/sessions/${await start()}/finish`, { answer: 'Mine.' });
    expect(finishedOf(given)).toMatchObject({ answer: 'Mine.', evaluation: { info: { answer: 'Mine.' } } });
    const none = await server.post(`/v1/sessions/${await start()}/finish`, { answer: null });
    expect(finishedOf(none).answer).toBe('Text.');
  });

  it('is asked once more for an answer of the right form', async () => {
    const server = await serve({ plays: [says('Three.'), says('{"count": 3}')] });
    const { session_id } = svcOf(await server.chat('Go.', { scenario: 'form', scenario_args: {} }));
    const finished = await server.post(`/v1/sessions/${session_id}/finish`);
    expect(finishedOf(finished)).toMatchObject({ answer: { count: 3 }, reward: 1 });
  });

  it('takes no turn after its end, and says why', async () => {
    const server = await serve();
    const { session_id } = svcOf(await server.chat('Go.', counting(0)));
    await server.post(`/v1/sessions/${session_id}/finish`);
    const late = await server.chat('More.', { thread_id: session_id });
    expect(errorOf(late)).toEqual([409, 'session_finished', null]);
    expect(late.headers['x-should-retry']).toBe('false');
    expect(late.text).toContain('finished');
  });

  it('is abandoned without an evaluation, again without harm, and cannot be finished then', async () => {
    const server = await serve();
    const { session_id, trace_id } = svcOf(await server.chat('Go.', counting(0)));
    const path = `/v1/sessions/${session_id}`;
    expect((await server.remove(path)).json).toMatchObject({ session_id, status: 'abandoned' });
    expect((await server.remove(path)).json).toMatchObject({ session_id, status: 'abandoned' });
    expect(errorOf(await server.post(`${path}/finish`))).toEqual([409, 'session_finished', null]);
    expect(await server.store.trace(trace_id)).toMatchObject({
      status: 'cancelled',
      stop_reason: 'abandoned',
      evaluation: null,
    });
  });

  it('that is finished cannot be abandoned', async () => {
    const server = await serve();
    const { session_id } = svcOf(await server.chat('Go.', counting(0)));
    await server.post(`/v1/sessions/${session_id}/finish`);
    expect(errorOf(await server.remove(`/v1/sessions/${session_id}`))).toEqual([409, 'session_finished', null]);
  });

  it('expires when nobody comes back: its last answer is evaluated and kept', async () => {
    const server = await serve({ sessionTtlMs: 50 });
    const { session_id, trace_id } = svcOf(await server.chat('Go.', counting(0)));
    const path = `/v1/sessions/${session_id}`;
    await until(async () => !(await server.get(path)).text.includes('"active"'));
    expect((await server.get(path)).json).toMatchObject({ status: 'expired' });
    expect(finishedOf(await server.post(`${path}/finish`))).toMatchObject({
      status: 'expired',
      reward: 1,
      answer: 'Done.',
    });
    expect(await server.store.trace(trace_id)).toMatchObject({
      status: 'completed',
      stop_reason: 'expired',
      reward: 1,
    });
  });

  it('fails with a first turn that fails, and its trace says so', async () => {
    const server = await serve();
    const failed = await server.chat('Go.', { scenario: 'broken_setup', scenario_args: {} });
    expect(errorOf(failed)).toEqual([502, 'environment_failed', null]);
    const id = String(failed.headers['x-svc-session-id']);
    expect((await server.get(`/v1/sessions/${id}`)).json).toMatchObject({ status: 'failed' });
    expect(await server.store.trace(String(failed.headers['x-svc-trace-id']))).toMatchObject({
      status: 'failed',
      stop_reason: 'error',
    });
    expect(errorOf(await server.chat('Again.', { thread_id: id }))).toEqual([409, 'session_finished', null]);
  });

  it('fails with an evaluation that fails', async () => {
    const server = await serve();
    const { session_id } = svcOf(await server.chat('Go.', { scenario: 'broken_evaluation', scenario_args: {} }));
    const path = `/v1/sessions/${session_id}/finish`;
    expect(errorOf(await server.post(path))).toEqual([502, 'environment_failed', null]);
    expect(errorOf(await server.post(path))).toEqual([409, 'session_finished', null]);
  });

  it('takes one turn at a time, and is not finished during one', async () => {
    const server = await serve({ plays: [says('Ready.'), calls(['wait', {}])] });
    const { session_id } = svcOf(await server.chat('Go.', { scenario: 'keep', scenario_args: { wanted: [] } }));
    const running = server.chat('Wait.', { thread_id: session_id });
    await until(() => server.gateway.requests.length === 2);
    expect(errorOf(await server.chat('Now.', { thread_id: session_id }))).toEqual([409, 'session_busy', null]);
    expect(errorOf(await server.post(`/v1/sessions/${session_id}/finish`))).toEqual([409, 'session_busy', null]);
    expect((await server.remove(`/v1/sessions/${session_id}`)).json).toMatchObject({ status: 'abandoned' });
    expect(errorOf(await running)).toEqual([409, 'session_finished', null]);
  });
});

describe('the list of sessions', () => {
  it('has the active ones, or every one', async () => {
    const server = await serve();
    const ended = svcOf(await server.chat('Go.', counting(0))).session_id;
    await server.post(`/v1/sessions/${ended}/finish`);
    const active = svcOf(await server.chat('Go.', counting(1))).session_id;
    const list = await server.get('/v1/sessions');
    expect(sessionListSchema.parse(list.json).sessions.map(({ session_id }) => session_id)).toEqual([active]);
    expect(sessionsOf(list)[0]).toMatchObject({
      scenario: 'count_to',
      scenario_args: { target: 1 },
      model: 'test-model',
      turns: 1,
      steps: 1,
    });
    const all = sessionsOf(await server.get('/v1/sessions?status=all'));
    expect(all.map(({ session_id, status }) => [session_id, status])).toEqual([
      [ended, 'finished'],
      [active, 'active'],
    ]);
    expect(sessionEntrySchema.parse((await server.get(`/v1/sessions/${ended}`)).json).status).toBe('finished');
  });

  it('knows no other session', async () => {
    const server = await serve();
    expect(errorOf(await server.get('/v1/sessions/sess_nope'))).toEqual([404, 'session_not_found', null]);
    expect(errorOf(await server.post('/v1/sessions/sess_nope/finish'))).toEqual([404, 'session_not_found', null]);
    expect(errorOf(await server.remove('/v1/sessions/sess_nope'))).toEqual([404, 'session_not_found', null]);
    expect(errorOf(await server.chat('Hi.', { thread_id: 'sess_nope' }))).toEqual([
      404,
      'session_not_found',
      'thread_id',
    ]);
    expect(errorOf(await server.get('/v1/sessions?status=old'))).toEqual([400, 'invalid_parameter', 'status']);
  });

  it('is full at max_sessions', async () => {
    const server = await serve({ maxSessions: 1 });
    const { session_id } = svcOf(await server.chat('Go.', counting(1)));
    const refused = await server.chat('Go.', counting(1));
    expect(errorOf(refused)).toEqual([503, 'capacity_exceeded', null]);
    expect(refused.headers['retry-after']).toBeDefined();
    await server.remove(`/v1/sessions/${session_id}`);
    expect((await server.chat('Go.', counting(1))).status).toBe(200);
  });
});
