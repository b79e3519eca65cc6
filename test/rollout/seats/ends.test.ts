import { describe, expect, it } from 'vitest';
import { startService, untilToolCalled } from '../../service/runs/service.ts';
import { deferred } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { createRoom, type RoomLog } from './environment.ts';
import { addressOf, nested, openSeat, postSeat, sitDown } from './seat.ts';

const PLAIN = { env_name: 'room', scenario_name: 'plain', scenario_args: {} };
const SHAPED = { env_name: 'room', scenario_name: 'shaped', scenario_args: {} };

async function startRoom(
  options: { log?: RoomLog; letGo?: () => Promise<void> } & Parameters<typeof startService>[0] = {},
) {
  const { log, letGo, ...rest } = options;
  return await startService({ environments: new Map([['room', createRoom(log, letGo)]]), ...rest });
}

type Service = Awaited<ReturnType<typeof startRoom>>;

function answer(service: Service, traceId: string, body: object) {
  return service.request(`/v1/agent/seats/${traceId}/answer`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

describe('submit_answer', () => {
  it('counts once: of two at the same time, and of a second one later', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, PLAIN);
    const [first, second] = [await sitDown(seat), await sitDown(seat)];
    const submit = (agent: typeof first, text: string) =>
      agent.callTool({ name: 'submit_answer', arguments: { answer: text } }).catch((error: unknown) => String(error));
    const results = await Promise.all([submit(first, 'done'), submit(second, 'something else')]);
    const received = results.filter((result) => JSON.stringify(result).includes('"received":true'));
    expect(received).toHaveLength(1);
    const trace = await service.ended(seat.trace_id);
    expect(trace).toMatchObject({ status: 'completed', stop_reason: 'answered' });
    expect(JSON.stringify(await submit(first, 'done'))).toMatch(/404|no open seat/i);
    const events = await service.store.events(seat.trace_id);
    expect(events.filter(({ type }) => type === 'answer.submitted')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'evaluation.completed')).toHaveLength(1);
  });

  it('takes what the schema of the scenario takes, the same as JSON in a text, and says what is wrong otherwise', async () => {
    const service = await startRoom();
    for (const given of [{ rooms: [{ id: 1 }] }, '{"rooms":[{"id":1}]}']) {
      const seat = await openSeat(service, SHAPED);
      expect(seat.system).toBe('You count rooms.');
      const agent = await sitDown(seat);
      const [tool] = (await agent.listTools()).tools.filter(({ name }) => name === 'submit_answer');
      expect(tool?.inputSchema).toMatchObject({ properties: { answer: { type: 'object' } }, required: ['answer'] });
      const wrong = await agent.callTool({ name: 'submit_answer', arguments: { answer: { rooms: [{ id: 'one' }] } } });
      expect(wrong).toMatchObject({ isError: true });
      expect(JSON.stringify(wrong)).toContain('answer.rooms');
      const result = await agent.callTool({ name: 'submit_answer', arguments: { answer: given } });
      expect(result.structuredContent).toEqual({ received: true });
      expect(await service.ended(seat.trace_id)).toMatchObject({ answer: { rooms: [{ id: 1 }] }, reward: 1 });
    }
  });

  it('is refused, and the seat stays open, where an answer is nested too deep for its evaluation', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, { ...PLAIN, scenario_name: 'loose' });
    const agent = await sitDown(seat);
    const submit = (depth: number) =>
      agent.callTool({ name: 'submit_answer', arguments: { answer: { it: nested(depth) } } });
    const refused = await submit(190);
    expect(refused).toMatchObject({ isError: true });
    expect(JSON.stringify(refused)).toContain('answer: is nested more than 128 deep');
    expect((await service.store.trace(seat.trace_id))?.status).toBe('running');
    await submit(100);
    expect(await service.ended(seat.trace_id)).toMatchObject({ status: 'completed', reward: 1 });
  });

  it('lets calls end that came before it, and none begin after it', async () => {
    const gate = deferred<void>();
    const log: RoomLog = { events: [], opened: 0 };
    const service = await startRoom({ log, letGo: () => gate.promise });
    const seat = await openSeat(service, PLAIN);
    const agent = await sitDown(seat);
    const waiting = agent.callTool({ name: 'wait', arguments: {} });
    await untilToolCalled(service, seat.trace_id);
    await agent.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    const late = await agent.callTool({ name: 'note', arguments: {} }).catch(String);
    expect(JSON.stringify(late)).toMatch(/404|no open seat/i);
    expect((await service.store.trace(seat.trace_id))?.status).toBe('running');
    gate.resolve();
    expect((await waiting).content).toEqual([{ type: 'text', text: 'waited' }]);
    expect(await service.ended(seat.trace_id)).toMatchObject({ reward: 1, evaluation: { info: { notes: 0 } } });
    expect(log.events).not.toContain('noted');
  });
});

describe('an answer from outside', () => {
  it('ends the seat and gives its trace; later there is none to end', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, PLAIN);
    expect(await answer(service, seat.trace_id, { answer: 'done' })).toMatchObject({
      status: 200,
      json: { trace_id: seat.trace_id, status: 'completed', answer: 'done', reward: 1 },
    });
    const later = await answer(service, seat.trace_id, { answer: 'done' });
    expect(later).toMatchObject({ status: 409, json: { error: { code: 'run_finished' } } });
    expect((await service.request(`/v1/agent/seats/${seat.trace_id}`)).status).toBe(409);
  });

  it('has to be there and to fit: the seat stays open', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, SHAPED);
    for (const body of [{}, { answer: null }]) {
      expect(await answer(service, seat.trace_id, body)).toMatchObject({
        status: 400,
        json: { error: { code: 'missing_required_parameter', param: 'answer' } },
      });
    }
    expect(await answer(service, seat.trace_id, { answer: { rooms: 1 } })).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_parameter', param: 'answer', message: expect.stringContaining('rooms') } },
    });
    expect((await service.store.trace(seat.trace_id))?.status).toBe('running');
  });

  it('is for seats of the own account alone: anything else is not found', async () => {
    const service = await startRoom({ environments: new Map([['room', createRoom()]]) });
    const seat = await openSeat(service, PLAIN);
    const { key } = await service.accounts.createKey({ name: 'other', account: 'other' });
    const stranger = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const path = `/v1/agent/seats/${seat.trace_id}`;
    const replies = [
      await service.request(`${path}/answer`, { method: 'POST', headers: stranger, body: '{"answer":"done"}' }),
      await service.request(path, { headers: stranger }),
      await service.request(`/v1/agent/seats/${'a'.repeat(32)}`),
      await service.request('/v1/agent/seats/nothing'),
    ];
    for (const reply of replies)
      expect(reply).toMatchObject({ status: 404, json: { error: { code: 'trace_not_found' } } });
  });
});

describe('the limits of a seat', () => {
  it('counts tool calls: after the last one the run is evaluated as it stands', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, { ...PLAIN, max_steps: 2 });
    const agent = await sitDown(seat);
    await agent.callTool({ name: 'note', arguments: {} });
    expect((await agent.callTool({ name: 'note', arguments: {} })).content).toEqual([{ type: 'text', text: '2' }]);
    expect(await service.ended(seat.trace_id)).toMatchObject({
      status: 'completed',
      stop_reason: 'max_steps',
      answer: '',
      reward: 0,
      evaluation: { info: { notes: 2 } },
      usage: { tool_calls: 2 },
    });
  });

  it('takes no more calls than that of clients that call at once', async () => {
    const gate = deferred<void>();
    const log: RoomLog = { events: [], opened: 0 };
    const service = await startRoom({ log, letGo: () => gate.promise });
    const seat = await openSeat(service, { ...PLAIN, max_steps: 4 });
    const agents = await Promise.all([sitDown(seat), sitDown(seat, 'modern')]);
    const waiting = agents.flatMap((agent) => [1, 2].map(() => agent.callTool({ name: 'wait', arguments: {} })));
    await until(() => log.events.length === 4);
    const refused = await Promise.all(agents.map((agent) => agent.callTool({ name: 'note', arguments: {} })));
    for (const result of refused) expect(JSON.stringify(result)).toContain('All 4 tool calls of this run are used up');
    gate.resolve();
    for (const result of await Promise.all(waiting)) expect(result.content).toMatchObject([{ text: 'waited' }]);
    expect(await service.ended(seat.trace_id)).toMatchObject({
      stop_reason: 'max_steps',
      usage: { tool_calls: 4 },
      evaluation: { info: { notes: 0 } },
    });
  });

  it('fails without an answer in time, and keeps the evaluation apart', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, { ...PLAIN, timeout_seconds: 1 });
    expect(Date.parse(seat.expires_at)).toBeLessThan(Date.now() + 1_000);
    const agent = await sitDown(seat);
    await agent.callTool({ name: 'note', arguments: {} });
    expect(await service.ended(seat.trace_id)).toMatchObject({
      status: 'failed',
      stop_reason: 'timeout',
      reward: null,
      error: { boundary: 'agent', code: 'turn_timeout', message: expect.stringContaining('submit_answer') },
      evaluation: { reward: 0, info: { notes: 1 } },
    });
  });

  it('ends a seat that nobody asked anything for ten minutes, and none where a call goes on', async () => {
    let now = 1_800_000_000_000;
    const gate = deferred<void>();
    const service = await startRoom({ now: () => now, seats: { lookEveryMs: 10 }, letGo: () => gate.promise });
    const [idle, visited, busy] = [
      await openSeat(service, PLAIN),
      await openSeat(service, PLAIN),
      await openSeat(service, PLAIN),
    ];
    const agent = await sitDown(busy);
    const waiting = agent.callTool({ name: 'wait', arguments: {} });
    await untilToolCalled(service, busy.trace_id);
    now += 10 * 60_000 - 1;
    // A request starts the time anew; the stream that its client holds open does not count.
    await (await sitDown(visited)).ping();
    now += 1;
    expect(await service.ended(idle.trace_id)).toMatchObject({
      status: 'failed',
      stop_reason: 'timeout',
      error: { boundary: 'agent', message: expect.stringContaining('no request for 10 min') },
    });
    const status = async ({ trace_id }: typeof busy) => (await service.store.trace(trace_id))?.status;
    expect(await status(visited)).toBe('running');
    now += 10 * 60_000 - 1;
    expect((await service.ended(visited.trace_id)).status).toBe('failed');
    expect(await status(busy)).toBe('running');
    gate.resolve();
    await waiting;
    await agent.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    expect((await service.ended(busy.trace_id)).status).toBe('completed');
  });
});

describe('a seat whose client of 2026-07-28 holds a stream of changes open', () => {
  it('is idle all the same, and ends the stream with it', async () => {
    let now = 1_800_000_000_000;
    const service = await startRoom({ now: () => now, seats: { lookEveryMs: 10 } });
    const seat = await openSeat(service, PLAIN);
    const listening = await listenToChanges(addressOf(seat));
    expect(listening.status).toBe(200);
    now += 10 * 60_000;
    expect(await service.ended(seat.trace_id)).toMatchObject({ status: 'failed', stop_reason: 'timeout' });
    expect(await listening.text()).toContain('"resultType":"complete"');
  });
});

describe('a seat that is given up', () => {
  it('is cancelled while a call runs: the call is aborted, nothing is evaluated', async () => {
    const log: RoomLog = { events: [], opened: 0 };
    const service = await startRoom({ log, letGo: () => new Promise(() => {}) });
    const seat = await openSeat(service, PLAIN);
    const agent = await sitDown(seat);
    const waiting = agent.callTool({ name: 'wait', arguments: {} }).catch(String);
    await untilToolCalled(service, seat.trace_id);
    const cancelled = await service.request(`/v1/traces/${seat.trace_id}/cancel`, { method: 'POST' });
    expect(cancelled.status).toBe(200);
    const trace = await service.ended(seat.trace_id);
    expect(trace).toMatchObject({ status: 'cancelled', stop_reason: 'cancelled', evaluation: null, error: null });
    expect(trace.tool_calls).toMatchObject([{ name: 'wait', is_error: true }]);
    await waiting;
    await until(() => log.events.includes('aborted'));
  });

  it('goes on when a client vanishes, and a call that it waited for is aborted alone', async () => {
    const log: RoomLog = { events: [], opened: 0 };
    const service = await startRoom({ log, letGo: () => new Promise(() => {}) });
    const seat = await openSeat(service, PLAIN);
    const gone = await sitDown(seat, 'modern');
    const waiting = gone.callTool({ name: 'wait', arguments: {} }).catch(String);
    await untilToolCalled(service, seat.trace_id);
    await gone.close();
    await waiting;
    await until(() => log.events.includes('aborted'));
    const next = await sitDown(seat);
    expect((await next.callTool({ name: 'note', arguments: {} })).content).toEqual([{ type: 'text', text: '1' }]);
    await next.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    expect(await service.ended(seat.trace_id)).toMatchObject({ status: 'completed', reward: 1 });
    expect(log.opened).toBeGreaterThan(0);
  });

  it('is not ended by a client that deletes its MCP session', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, PLAIN);
    const first = await sitDown(seat);
    await first.callTool({ name: 'note', arguments: {} });
    const { transport } = first;
    if (transport === undefined || !('terminateSession' in transport)) throw new Error('No transport over HTTP');
    await (transport as { terminateSession(): Promise<void> }).terminateSession();
    const second = await sitDown(seat);
    // The same session of the environment: the note is there.
    expect((await second.callTool({ name: 'note', arguments: {} })).content).toEqual([{ type: 'text', text: '2' }]);
  });

  it('fails by the worker when the service shuts down, and takes nothing new', async () => {
    const service = await startRoom();
    const seat = await openSeat(service, PLAIN);
    await sitDown(seat);
    await service.close();
    expect(await service.store.trace(seat.trace_id)).toMatchObject({
      status: 'failed',
      stop_reason: 'error',
      error: { boundary: 'worker', code: 'shutting_down' },
      attempts: [{ attempt: 1, end: 'failed' }],
    });
    expect(await service.database.kysely.selectFrom('seats').selectAll().execute()).toEqual([]);
  });

  it('is none where setup fails: the reply names the trace, which says why', async () => {
    const service = await startRoom();
    const reply = await postSeat(service, { ...PLAIN, scenario_name: 'broken' });
    expect(reply).toMatchObject({ status: 502, json: { error: { code: 'environment_failed' } } });
    const traceId = String(reply.headers['x-svc-trace-id']);
    expect(await service.ended(traceId)).toMatchObject({
      origin: 'agent',
      status: 'failed',
      error: { boundary: 'setup' },
    });
    await expect.poll(() => service.database.kysely.selectFrom('seats').selectAll().execute()).toEqual([]);
  });
});

/** A stream that lasts until its server ends it. */
function listenToChanges(url: string): Promise<Response> {
  const method = 'subscriptions/listen';
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'listener', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: { notifications: { toolsListChanged: true }, _meta },
    }),
  });
}
