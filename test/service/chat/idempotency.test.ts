import { describe, expect, it } from 'vitest';
import { calls, json, says } from '../../gateway.ts';
import { holdRequest, openChat } from './open-chat.ts';
import { completionOf, counting, errorOf, framesOf, serve, sessionsOf, svcOf, untilFree } from './server.ts';

const KEY = { 'idempotency-key': 'k1' };
const DAY_MS = 24 * 60 * 60 * 1_000;

describe('a first turn with an Idempotency-Key', () => {
  it('is answered again with the stored answer, without a model call', async () => {
    const server = await serve({ plays: [calls(['increment', { by: 1 }]), says('One.')] });
    const first = await server.chat('Go.', counting(1), KEY);
    const again = await server.chat('Go.', counting(1), KEY);
    expect(again.status).toBe(200);
    expect(again.json).toEqual(first.json);
    const ids = ['x-svc-session-id', 'x-svc-trace-id'] as const;
    expect(ids.map((name) => again.headers[name])).toEqual(ids.map((name) => first.headers[name]));
    expect(again.headers['x-request-id']).not.toBe(first.headers['x-request-id']);
    expect(server.gateway.requests).toHaveLength(2);
    expect(sessionsOf(await server.get('/v1/sessions'))).toHaveLength(1);
  });

  it('is the same request with its fields in another order', async () => {
    const server = await serve();
    const messages = [{ role: 'user', content: 'Go.' }];
    const first = await server.post('/v1/chat/completions', { messages, ...counting(1) }, KEY);
    const turned = { scenario_args: { target: 1 }, scenario: 'count_to', messages: [{ content: 'Go.', role: 'user' }] };
    expect((await server.post('/v1/chat/completions', turned, KEY)).json).toEqual(first.json);
  });

  it('streamed is answered again as one delta, the finish chunk and [DONE]', async () => {
    const server = await serve({ plays: [says('One', ' two.')] });
    const options = { stream: true, stream_options: { include_usage: true }, ...counting(0) };
    const first = framesOf(await server.chat('Go.', options, KEY));
    const again = await server.chat('Go.', options, KEY);
    expect(again.headers['content-type']).toBe('text/event-stream; charset=utf-8');
    const sent = framesOf(again);
    expect(sent).toEqual([first[0], expect.anything(), ...first.slice(-3)]);
    expect(sent[1]).toMatchObject({ choices: [{ delta: { content: 'One two.' }, finish_reason: null }] });
    expect(server.gateway.requests).toHaveLength(1);
  });

  it('streamed is stored before its client has its end', async () => {
    const server = await serve();
    const body = { messages: [{ role: 'user', content: 'Go.' }], stream: true, ...counting(0) };
    const chat = openChat(server.url, body, { headers: KEY });
    await chat.heard('"finish_reason":"stop"');
    expect((await server.post('/v1/chat/completions', body, KEY)).text).toContain('[DONE]');
    await chat.ended;
    expect(server.gateway.requests).toHaveLength(1);
  });

  it('is refused while the first one runs: 409 request_in_progress, and no second session', async () => {
    const held = holdRequest();
    const server = await serve({ plays: [held.play] });
    const running = server.chat('Go.', counting(0), KEY);
    const response = await held.asked;
    const refused = await server.chat('Go.', counting(0), KEY);
    expect(errorOf(refused)).toEqual([409, 'request_in_progress', null]);
    expect(refused.headers['x-should-retry']).toBe('false');
    expect(errorOf(await server.chat('Other.', counting(0), KEY))).toEqual([409, 'idempotency_conflict', null]);
    await says('Done.')(response);
    const first = await running;
    expect((await server.chat('Go.', counting(0), KEY)).json).toEqual(first.json);
    expect(sessionsOf(await server.get('/v1/sessions?status=all'))).toHaveLength(1);
  });

  it('is a new one after the trace of the answer was deleted', async () => {
    const server = await serve();
    const first = svcOf(await server.chat('Go.', counting(0), KEY));
    await server.remove(`/v1/sessions/${first.session_id}`);
    expect(await server.store.remove(first.trace_id)).toBe(true);
    const second = svcOf(await server.chat('Go.', counting(0), KEY));
    expect(second.trace_id).not.toBe(first.trace_id);
    expect(await server.store.row(second.trace_id)).toBeDefined();
    expect(svcOf(await server.chat('Go.', counting(0), KEY))).toEqual(second);
  });

  it('is refused with another body: 409 idempotency_conflict', async () => {
    const server = await serve();
    await server.chat('Go.', counting(0), KEY);
    for (const [message, fields] of [
      ['Go!', counting(0)],
      ['Go.', counting(1)],
      ['Go.', { ...counting(0), stream: true }],
      ['Go.', { ...counting(0), temperature: 1 }],
    ] as const) {
      const refused = await server.chat(message, fields, KEY);
      expect(errorOf(refused)).toEqual([409, 'idempotency_conflict', null]);
      expect(refused.headers['x-should-retry']).toBe('false');
    }
    expect(server.gateway.requests).toHaveLength(1);
  });

  it('is not stored where it failed: the same request is tried anew', async () => {
    const server = await serve({ plays: [json(400, { error: { message: 'No.' } }), says('Done.')] });
    expect(errorOf(await server.chat('Go.', counting(0), KEY))).toEqual([502, 'model_failed', null]);
    expect((await server.chat('Go.', counting(0), KEY)).status).toBe(200);
    expect(
      errorOf(await server.chat('Go.', { scenario: 'nope', scenario_args: {} }, { 'idempotency-key': 'k2' }))[0],
    ).toBe(404);
    expect((await server.chat('Go.', counting(0), { 'idempotency-key': 'k2' })).status).toBe(200);
  });

  it('is not stored where its client went away: the session is closed, and the same request starts another', async () => {
    const held = holdRequest();
    const server = await serve({ plays: [held.play, says('Done.')] });
    const body = { messages: [{ role: 'user', content: 'Go.' }], ...counting(0) };
    const chat = openChat(server.url, body, { headers: KEY });
    await held.asked;
    chat.leave();
    await held.dropped;
    const again = await untilFree(() => server.post('/v1/chat/completions', body, KEY));
    expect(completionOf(again).choices[0].message.content).toBe('Done.');
    const sessions = sessionsOf(await server.get('/v1/sessions?status=all'));
    expect(sessions.map(({ status }) => status)).toEqual(['failed', 'active']);
  });

  it("is its own account's: the same key of another one gives no answer away, and refuses nothing", async () => {
    const held = holdRequest();
    const server = await serve({
      plays: [says('For one.'), says('For two.'), held.play, says('For two again.')],
      verifyKey: async (key) => ({ account: key, keyId: key, requestsPerMinute: null }),
    });
    const as = (account: string, key = 'k1') => ({ authorization: `Bearer ${account}`, 'idempotency-key': key });
    const textOf = (reply: Awaited<ReturnType<typeof server.chat>>) => completionOf(reply).choices[0].message.content;
    const first = await server.chat('Go.', counting(0), as('one'));
    const second = await server.chat('Go.', counting(0), as('two'));
    expect([textOf(first), textOf(second)]).toEqual(['For one.', 'For two.']);
    expect((await server.chat('Go.', counting(0), as('one'))).json).toEqual(first.json);
    expect((await server.chat('Go.', counting(0), as('two'))).json).toEqual(second.json);

    const running = server.chat('Go.', counting(0), as('one', 'k2'));
    const response = await held.asked;
    expect(textOf(await server.chat('Other.', counting(0), as('two', 'k2')))).toBe('For two again.');
    await says('Done.')(response);
    await running;
    // What an account and a key are together is never what two others are.
    expect(textOf(await server.chat('Go.', counting(0), as('one,k', '1')))).toBe('For two again.');
  });

  it('is forgotten after 24 hours', async () => {
    let now = Date.now();
    const server = await serve({ now: () => now });
    const first = svcOf(await server.chat('Go.', counting(0), KEY)).session_id;
    now += DAY_MS - 1;
    expect(svcOf(await server.chat('Go.', counting(0), KEY)).session_id).toBe(first);
    now += 2;
    expect(svcOf(await server.chat('Other.', counting(0), KEY)).session_id).not.toBe(first);
  });

  it('is answered again after the server was started anew, and after the session has ended', async () => {
    const server = await serve();
    const first = await server.chat('Go.', counting(0), KEY);
    await server.post(`/v1/sessions/${svcOf(first).session_id}/finish`);
    await server.server.close();
    const again = await serve({ database: server.database, store: server.store });
    expect((await again.chat('Go.', counting(0), KEY)).json).toEqual(first.json);
    expect(again.gateway.requests).toEqual([]);
  });

  it('sent three times, as SDKs do, makes one session; without a key three, none of which is lost', async () => {
    const server = await serve();
    for (const headers of [KEY, KEY, KEY]) await server.chat('Go.', counting(0), headers);
    expect(sessionsOf(await server.get('/v1/sessions?status=all'))).toHaveLength(1);
    for (const count of ['0', '1', '2']) await server.chat('Go.', counting(0), { 'x-stainless-retry-count': count });
    expect(sessionsOf(await server.get('/v1/sessions?status=all'))).toHaveLength(4);
  });
});

describe('a later turn', () => {
  it('takes no notice of the key: it is a turn each time', async () => {
    const server = await serve({ plays: [says('One.'), says('Two.'), says('Three.')] });
    const { session_id } = svcOf(await server.chat('Go.', counting(0), KEY));
    const texts: string[] = [];
    for (const message of ['More.', 'More.']) {
      const reply = await server.chat(message, { thread_id: session_id }, KEY);
      texts.push(completionOf(reply).choices[0].message.content);
    }
    expect(texts).toEqual(['Two.', 'Three.']);
  });
});
