import { describe, expect, it } from 'vitest';
import { json, says } from '../../gateway.ts';
import { until } from '../../until.ts';
import { holdRequest } from './open-chat.ts';
import { CHAT, type Expected, expectRefused, HELLO, invalid, start } from './refusal-table.ts';
import { counting, serve, svcOf, type TestServer } from './server.ts';

describe('a follow-up is refused, and the session goes on:', () => {
  it.each<readonly [id: string, fields: object, expected: Expected, says: RegExp]>([
    ['chat.next.scenario', { scenario: 'keep' }, [409, 'session_conflict', 'scenario'], /"count_to".*"keep"/],
    ['chat.next.args', { scenario_args: { target: 2 } }, [409, 'session_conflict', 'scenario_args'], /\{"target":1\}/],
    ['chat.next.model', { model: 'other' }, invalid('model'), /"test-model".*"other"/],
    ['chat.next.max-steps', { max_steps: 7 }, invalid('max_steps'), /100.*7/],
    [
      'chat.next.nothing',
      { messages: [{ role: 'assistant', content: 'Done.' }] },
      invalid('messages'),
      /no user message/,
    ],
    [
      'chat.next.history',
      { messages: [...HELLO, { role: 'assistant', content: 'Done.' }] },
      invalid('messages'),
      /after the last assistant/,
    ],
    [
      'chat.next.system',
      { messages: [{ role: 'system', content: 'Be brief.' }] },
      invalid('messages'),
      /no user message/,
    ],
    [
      'chat.next.tool',
      { messages: [{ role: 'tool', tool_call_id: 'a', content: 'x' }] },
      invalid('messages'),
      /no user/,
    ],
    ['chat.next.n', { n: 2 }, invalid('n'), /got 2/],
    ['chat.next.tools', { tools: [{ type: 'function' }] }, invalid('tools'), /environment supplies/],
  ])('%s', async (_id, fields, expected, says) => {
    const server = await serve();
    const { session_id } = svcOf(await server.post(CHAT, start));
    const refused = await server.post(CHAT, { messages: HELLO, thread_id: session_id, ...fields });
    expectRefused(refused, expected, says);
    expect(server.gateway.requests).toHaveLength(1);
    expect((await server.chat('Go on.', { thread_id: session_id })).status).toBe(200);
  });

  it('chat.next.same: its own scenario, arguments, model and max_steps are taken again', async () => {
    const server = await serve();
    const fields = { ...counting(1), model: 'a-model', max_steps: 9 };
    const { session_id } = svcOf(await server.chat('Go.', fields));
    for (const scenario of ['count_to', 'counter:count_to']) {
      expect((await server.chat('Go on.', { ...fields, scenario, thread_id: session_id })).status).toBe(200);
    }
    expect(server.gateway.requests.map(({ body }) => body.model)).toEqual(['a-model', 'a-model', 'a-model']);
  });
});

describe('a session that has ended takes no turn, and says how it ended:', () => {
  it.each<readonly [id: string, state: string, end: (server: TestServer, path: string) => Promise<unknown>]>([
    ['chat.ended.finished', 'finished', (server, path) => server.post(`${path}/finish`)],
    ['chat.ended.abandoned', 'abandoned', (server, path) => server.remove(path)],
    ['chat.ended.expired', 'expired', (server, path) => untilEnded(server, path)],
  ])('%s', async (_id, state, end) => {
    const server = await serve(state === 'expired' ? { sessionTtlMs: 30 } : {});
    const { session_id } = svcOf(await server.post(CHAT, start));
    await end(server, `/v1/sessions/${session_id}`);
    const refused = await server.chat('More.', { thread_id: session_id });
    expectRefused(refused, [409, 'session_finished', null], new RegExp(`is ${state}`));
    expect(server.gateway.requests).toHaveLength(1);
  });

  it('chat.ended.failed', async () => {
    const server = await serve({ plays: [json(400, { error: { message: 'No.' } })] });
    const failed = await server.post(CHAT, start);
    expectRefused(failed, [502, 'model_failed', null], /No\./);
    const refused = await server.chat('More.', { thread_id: String(failed.headers['x-svc-session-id']) });
    expectRefused(refused, [409, 'session_finished', null], /is failed: .*No\./);
  });
});

async function untilEnded(server: TestServer, path: string): Promise<void> {
  await until(async () => !(await server.get(path)).text.includes('"active"'));
}

describe('a session that is busy', () => {
  it('chat.busy: refuses a second turn and finish, with x-should-retry: false', async () => {
    const held = holdRequest();
    const server = await serve({ plays: [says('Ready.'), held.play, says('Again.')] });
    const { session_id } = svcOf(await server.post(CHAT, start));
    const running = server.chat('Wait.', { thread_id: session_id });
    const response = await held.asked;
    expectRefused(await server.chat('Now.', { thread_id: session_id }), [409, 'session_busy', null], /still running/);
    const streamed = await server.chat('Now.', { thread_id: session_id, stream: true });
    expectRefused(streamed, [409, 'session_busy', null], /still running/);
    const finish = await server.post(`/v1/sessions/${session_id}/finish`);
    expectRefused(finish, [409, 'session_busy', null], /still running/);
    await says('Waited.')(response);
    expect((await running).status).toBe(200);
  });
});
