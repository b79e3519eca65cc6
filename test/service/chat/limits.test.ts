import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { connect, httpTransport } from '../../environment/server/clients.ts';
import { calls, says } from '../../gateway.ts';
import { until } from '../../until.ts';
import { createStage } from './fixtures/stage.ts';
import { holdRequest } from './open-chat.ts';
import { completionOf, counting, errorOf, finishedOf, serve, sessionsOf, svcOf } from './server.ts';

/** Which timers were set with these times, and a way to end one of them. */
function watchTimers() {
  const timeouts = vi.spyOn(globalThis, 'setTimeout');
  const intervals = vi.spyOn(globalThis, 'setInterval');
  onTestFinished(() => {
    timeouts.mockRestore();
    intervals.mockRestore();
  });
  const has = (spy: typeof timeouts | typeof intervals, milliseconds: number) =>
    spy.mock.calls.some(([, time]) => time === milliseconds);
  return {
    hasTimeout: (milliseconds: number) => has(timeouts, milliseconds),
    hasInterval: (milliseconds: number) => has(intervals, milliseconds),
    /** Does what the last timer with this time would do. */
    fire: (milliseconds: number) => timeouts.mock.calls.findLast(([, time]) => time === milliseconds)?.[0](),
  };
}

describe('the time of a turn', () => {
  it('is 280 s for a plain one, and an hour for a streamed one, whose comments come every 10 s', async () => {
    const server = await serve();
    const timers = watchTimers();
    await server.chat('Go.', counting(1));
    expect([timers.hasTimeout(280_000), timers.hasTimeout(3_600_000), timers.hasInterval(10_000)]).toEqual([
      true,
      false,
      false,
    ]);
    await server.chat('Go.', { ...counting(1), stream: true });
    expect([timers.hasTimeout(3_600_000), timers.hasInterval(10_000)]).toEqual([true, true]);
  });

  it('is 280 s for a lifecycle tool over HTTP, and an hour over /mcp, with progress every 4 s', async () => {
    const server = await serve();
    const timers = watchTimers();
    await server.post('/v1/lifecycle-tools/call', { name: 'scenario_start', arguments: counting(1) });
    expect([timers.hasTimeout(280_000), timers.hasTimeout(3_600_000)]).toEqual([true, false]);
    const client = await connect(httpTransport(`${server.url}/mcp`));
    await client.callTool({ name: 'scenario_start', arguments: counting(1) });
    expect([timers.hasTimeout(3_600_000), timers.hasInterval(4_000)]).toEqual([true, true]);
  });
});

describe('expiry', () => {
  /** A number that no other timer has. */
  const TTL_MS = 987_653;

  it('is 30 minutes after the end of a turn where nothing else is said', async () => {
    const server = await serve();
    const timers = watchTimers();
    await server.chat('Go.', counting(1));
    expect(timers.hasTimeout(1_800_000)).toBe(true);
  });

  it('never comes during a turn, also where the time since the last one is over', async () => {
    const timers = watchTimers();
    const held = holdRequest();
    const server = await serve({ sessionTtlMs: TTL_MS, plays: [says('Ready.'), held.play, says('Still here.')] });
    const { session_id: thread_id } = svcOf(await server.chat('Go.', counting(0)));
    const running = server.chat('Wait.', { thread_id });
    const response = await held.asked;
    timers.fire(TTL_MS);
    expect((await server.get(`/v1/sessions/${thread_id}`)).json).toMatchObject({ status: 'active' });
    await says('Waited.')(response);
    expect(completionOf(await running).choices[0].message.content).toBe('Waited.');
    expect((await server.chat('And now?', { thread_id })).status).toBe(200);
    timers.fire(TTL_MS);
    const path = `/v1/sessions/${thread_id}`;
    await until(async () => !(await server.get(path)).text.includes('"active"'));
    const expired = await server.post(`${path}/finish`);
    expect(finishedOf(expired)).toMatchObject({ status: 'expired', answer: 'Still here.', reward: 1 });
    const refused = await server.remove(path);
    expect(errorOf(refused)).toEqual([409, 'session_finished', null]);
    expect(refused.text).toContain('is expired');
  });
});

describe('DELETE of a session', () => {
  it('aborts the turn that runs, in the gateway and in the tool, and answers with the abandoned session', async () => {
    const stage = createStage();
    const held = holdRequest();
    const server = await serve({
      environments: new Map([['stage', stage.target]]),
      plays: [says('Ready.'), held.play, says('Ready.'), calls(['wait', {}])],
    });
    const start = async () => svcOf(await server.chat('Go.', { scenario: 'play', scenario_args: {} })).session_id;
    const first = await start();
    const asking = server.chat('Wait.', { thread_id: first });
    await held.asked;
    const removed = await server.remove(`/v1/sessions/${first}`);
    expect([removed.status, removed.json]).toMatchObject([200, { session_id: first, status: 'abandoned' }]);
    await held.dropped;
    expect(errorOf(await asking)).toEqual([409, 'session_finished', null]);

    const second = await start();
    const tool = stage.hold('tool');
    const calling = server.chat('Wait.', { thread_id: second, stream: true });
    await tool.reached;
    expect((await server.remove(`/v1/sessions/${second}`)).json).toMatchObject({ status: 'abandoned' });
    await tool.aborted;
    expect((await calling).text).toContain('is abandoned');
    const all = sessionsOf(await server.get('/v1/sessions?status=all'));
    expect(all.map(({ status }) => status)).toEqual(['abandoned', 'abandoned']);
    await until(() => stage.open === 0);
  });
});

describe('an entry of GET /v1/sessions', () => {
  it('has the fields of the contract alone, times in ISO 8601, and the seconds since its last turn', async () => {
    let now = Date.UTC(2026, 0, 1);
    const server = await serve({ now: () => now });
    const { session_id, trace_id, trace_url } = svcOf(await server.chat('Go.', counting(1)));
    now += 61_999;
    const listed = await server.get('/v1/sessions');
    const entry = {
      session_id,
      thread_id: session_id,
      conversation_id: session_id,
      trace_id,
      trace_url,
      scenario: 'count_to',
      scenario_args: { target: 1 },
      model: 'test-model',
      status: 'active',
      created_at: '2026-01-01T00:00:00.000Z',
      last_active_at: '2026-01-01T00:00:00.000Z',
      idle_seconds: 61,
      turns: 1,
      steps: 1,
    };
    expect(listed.json).toEqual({ object: 'list', sessions: [entry] });
    expect((await server.get(`/v1/sessions/${session_id}`)).json).toEqual(entry);
  });
});
