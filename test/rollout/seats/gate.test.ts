import { describe, expect, it } from 'vitest';
import { startModels, whole } from '../../gateway.ts';
import { startService } from '../../service/runs/service.ts';
import { deferred } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { askModel, createAgent } from './agent.ts';
import { openSeat, sitDown } from './seat.ts';

const TOOL = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object' } } });
const ALL = ['increment', 'read', 'slow_increment'];
const body = (names: readonly string[], text = 'Hello') => ({
  model: 'x',
  messages: [{ role: 'user', content: text }],
  ...(names.length === 0 ? {} : { tools: names.map(TOOL) }),
});

async function startSeat(request: object = {}, timing: object = {}) {
  const { models, gateway } = await startModels([whole({ content: 'Fine.' })]);
  const service = await startService({ models, seats: { timing } });
  return { service, gateway, seat: await openSeat(service, { model: 'gpt-test', ...request }) };
}

describe('no first call without tools', () => {
  it('holds the first call until the agent has listed its tools, however slow its MCP address is', async () => {
    const { seat, gateway, service } = await startSeat();
    const slow = deferred<void>();
    const listing = slow.promise.then(async () => (await sitDown(seat)).listTools());
    const call = askModel(seat, '/v1/chat/completions', body(ALL.map((name) => `mcp__env__${name}`)));
    // A side call is answered meanwhile: what the gate holds is not the connection.
    expect((await askModel(seat, '/v1/chat/completions', body([], 'A title, please'))).status).toBe(200);
    expect(gateway.requests).toHaveLength(1);
    slow.resolve();
    await listing;
    expect((await call).status).toBe(200);
    expect(gateway.requests).toHaveLength(2);
    const events = (await service.store.events(seat.trace_id)).filter(({ type }) => type === 'model.requested');
    expect(events).toMatchObject([{ branch: 'side-1' }, { branch: null }]);
  });

  it('lets one call through as the main conversation of those that have waited together', async () => {
    const { seat, service } = await startSeat();
    const names = ALL.map((name) => `mcp__env__${name}`);
    const waiting = ['one', 'two', 'three'].map((text) => askModel(seat, '/v1/chat/completions', body(names, text)));
    // It comes after them, and is answered while they wait.
    await askModel(seat, '/v1/chat/completions', body([], 'A title, please'));
    await (await sitDown(seat)).listTools();
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200, 200]);
    const events = (await service.store.events(seat.trace_id)).filter(({ type }) => type === 'model.requested');
    expect(events.map((event) => ('branch' in event ? event.branch : undefined)).toSorted()).toEqual([
      'agent-1',
      'agent-2',
      null,
      'side-1',
    ]);
  });

  it('ends an agent as invalid that never lists them: without a reward, and with what to set for it', async () => {
    const { seat, service, gateway } = await startSeat({}, { gateMs: 50 });
    const refused = await askModel(seat, '/v1/chat/completions', body(ALL), { 'user-agent': 'claude-cli/2.1.0' });
    expect(refused).toMatchObject({
      status: 400,
      json: { error: { code: 'agent_without_tools', message: expect.stringContaining('MCP_CONNECTION_NONBLOCKING') } },
    });
    expect(await service.ended(seat.trace_id)).toMatchObject({
      status: 'failed',
      outcome: 'invalid',
      reward: null,
      evaluation: null,
      error: { boundary: 'agent', code: 'agent_without_tools' },
    });
    expect(gateway.requests).toEqual([]);
  });

  it.each([
    ['one of them is missing', ['a_increment', 'a_read']],
    ['it has tools of its own alone', ['bash', 'edit']],
    ['a name only looks alike', ['increments', 'read', 'slow_increment']],
  ])('ends it as invalid where %s', async (_how, names) => {
    const { seat, service } = await startSeat();
    await (await sitDown(seat)).listTools();
    expect((await askModel(seat, '/v1/chat/completions', body(names))).status).toBe(400);
    expect(await service.ended(seat.trace_id)).toMatchObject({ outcome: 'invalid', evaluation: null });
  });

  it('takes any prefix, a namespace, and tools that come as an item', async () => {
    const tools = ALL.map((name) => ({ type: 'function', name, parameters: { type: 'object' } }));
    const namespace = { type: 'namespace', name: 'mcp__env', tools };
    const ways: [string, object][] = [
      ['/v1/chat/completions', body(ALL.map((name) => `env_${name}`))],
      ['/v1/chat/completions', body(ALL.map((name) => `env.${name}`))],
      ['/v1/chat/completions', body([...ALL, 'bash'])],
      ['/v1/responses', { model: 'x', input: 'Hello', tools: [namespace] }],
      [
        '/v1/responses',
        {
          model: 'x',
          input: [
            { type: 'additional_tools', role: 'developer', tools },
            { role: 'user', content: 'Hello' },
          ],
        },
      ],
    ];
    for (const [path, request] of ways) {
      const { seat } = await startSeat();
      await (await sitDown(seat)).listTools();
      const { status, text } = await askModel(seat, path, request);
      expect([JSON.stringify(request), status, text]).toEqual([JSON.stringify(request), 200, expect.any(String)]);
    }
  });

  it('needs submit_answer too where that is the only way to answer', async () => {
    const { seat } = await startSeat({ answer: 'tool' });
    await (await sitDown(seat)).listTools();
    const refused = await askModel(seat, '/v1/chat/completions', body(ALL));
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('submit_answer') });
  });

  it('is asked for once: later calls may offer fewer, and are beside the main conversation', async () => {
    const { seat, service } = await startSeat();
    const agent = await createAgent(seat);
    expect((await agent.say('Begin')).status).toBe(200);
    expect((await askModel(seat, '/v1/chat/completions', body(['bash'], 'Look around'))).status).toBe(200);
    const trace = await service.store.trace(seat.trace_id);
    expect(trace?.steps).toMatchObject([{ branch: null }, { branch: 'agent-1' }]);
  });

  it('makes a run invalid whose agent has asked its model and never begun', async () => {
    const { seat, service } = await startSeat();
    const agent = await createAgent(seat);
    expect((await askModel(seat, '/v1/chat/completions', body([]))).status).toBe(200);
    await agent.mcp.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    expect(await service.ended(seat.trace_id)).toMatchObject({
      status: 'failed',
      outcome: 'invalid',
      evaluation: null,
      error: { code: 'agent_without_tools' },
    });
  });

  it('does not concern an agent that only calls tools', async () => {
    const { seat, service } = await startSeat();
    const agent = await sitDown(seat);
    await agent.callTool({ name: 'increment', arguments: { by: 3 } });
    await agent.callTool({ name: 'submit_answer', arguments: { answer: 'done' } });
    expect(await service.ended(seat.trace_id)).toMatchObject({ outcome: 'graded', reward: 1 });
  });

  it('lets go of a waiting call when the run is cancelled', async () => {
    const { seat, service } = await startSeat();
    const call = askModel(seat, '/v1/chat/completions', body(ALL));
    await until(async () => (await service.request(`/v1/agent/seats/${seat.trace_id}`)).status === 200);
    await service.request(`/v1/traces/${seat.trace_id}/cancel`, { method: 'POST' });
    expect(await call).toMatchObject({ status: 400, json: { error: { code: 'run_finished' } } });
    expect((await service.ended(seat.trace_id)).status).toBe('cancelled');
  });
});
