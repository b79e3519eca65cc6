import { EnvironmentServer } from 'proctor';
import { describe, expect, it } from 'vitest';
import { inMemory } from '../../../src/environment/server/in-memory.ts';
import { directoryWith, line } from '../../evaluation/tasks/files.ts';
import { createRoom, type RoomLog } from '../../rollout/seats/environment.ts';
import { send } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { TROUBLE } from '../runs/service.ts';
import { askRpc, connectOpenEnv } from './openenv-client.ts';
import { serveOpenEnv } from './openenv-server.ts';

const RECEIVED = { data: 'received', is_error: false };
const failure = (code: string, message: unknown = expect.any(String)) => ({
  type: 'error',
  data: expect.objectContaining({ code, message }),
});

describe('an OpenEnv episode', () => {
  it('begins by reset, is played by steps, and ends by submit_answer with its reward and nothing else', async () => {
    const { connect, traces } = await serveOpenEnv();
    const client = await connect();
    const first = await client.reset({ target: 2, episode_id: 'mine' });
    expect(first).toEqual({
      type: 'observation',
      data: {
        observation: {
          prompt: [{ role: 'user', content: expect.any(String) }],
          system: null,
          text: expect.any(String),
        },
        reward: null,
        done: false,
      },
    });
    const listed = await client.ask({ type: 'step', data: { type: 'list_tools' } });
    const { tools } = listed.data.observation as { tools: { name: string; description: unknown }[] };
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['increment', 'submit_answer']));
    expect(tools.filter(({ description }) => typeof description !== 'string')).toEqual([]);
    const step = await client.call('increment', { by: 2 });
    expect(step.data).toEqual({
      observation: { tool_name: 'increment', result: expect.objectContaining({ data: '2' }), error: null },
      reward: null,
      done: false,
    });
    const [{ trace_id } = { trace_id: '' }] = (await traces()).flatMap((trace) => trace ?? []);
    const state = { episode_id: 'mine', step_count: 1, trace_id, scenario: 'count_to', done: false };
    expect(await client.ask({ type: 'state' })).toEqual({ type: 'state', data: state });
    expect(await client.call('submit_answer', { answer: '2' })).toEqual({
      type: 'observation',
      data: {
        observation: { tool_name: 'submit_answer', result: expect.objectContaining(RECEIVED), error: null },
        reward: 1,
        done: true,
      },
    });
    expect(await client.call('increment')).toEqual(
      failure('EXECUTION_ERROR', expect.stringContaining('call reset first')),
    );
    expect(await client.ask({ type: 'state' })).toMatchObject({ data: { step_count: 2, done: true } });
    client.post({ type: 'close' });
    expect(await client.closed).toBe(1_000);
    expect(await traces()).toMatchObject([
      { origin: 'openenv', model: 'external', status: 'completed', stop_reason: 'answered', reward: 1 },
    ]);
  });

  it('that is left by another reset, or by its socket, is abandoned without an evaluation', async () => {
    const { connect, traces } = await serveOpenEnv();
    const client = await connect();
    await client.reset({ target: 2 });
    await client.call('increment', { by: 2 });
    await client.reset({ target: 3 });
    expect((await client.call('increment')).data).toMatchObject({ observation: { result: { data: '1' } } });
    client.socket.terminate();
    await until(async () => (await traces()).every((trace) => trace?.status === 'cancelled'));
    expect((await traces()).map((trace) => [trace?.stop_reason, trace?.evaluation])).toEqual([
      ['abandoned', null],
      ['abandoned', null],
    ]);
  });

  it('is of the next task without arguments, of one task by seed or id, and of what the arguments say', async () => {
    const { connect, traces } = await serveOpenEnv();
    const client = await connect();
    for (const data of [
      {},
      {},
      { seed: 7 },
      { seed: 2, episode_id: null },
      { task_id: 'gross' },
      { target: 5, seed: 1 },
    ]) {
      expect((await client.reset(data)).type, JSON.stringify(data)).toBe('observation');
    }
    const played = (await traces()).sort((a, b) => ((a?.created_at ?? '') < (b?.created_at ?? '') ? -1 : 1));
    // The tasks of `train` by id: forty, nothing, one, thousand, three.
    expect(played.map((trace) => trace?.scenario_args.target)).toEqual([40, 0, 1, 1, 144, 5]);
    // A replay has the seed of its trace.
    expect(played.map((trace) => trace?.seed)).toEqual([null, null, 7, 2, null, 1]);
  });

  it('has the seed of reset as the seed of its environment, 0 without one', async () => {
    const dice = inMemory(() => {
      const env = new EnvironmentServer({ name: 'dice' });
      env.scenario('roll', {}, async function* (_args, { seed }) {
        yield `Seed ${seed}.`;
        return 1;
      });
      return env;
    });
    const { connect } = await serveOpenEnv({ environment: ['dice', dice] });
    const client = await connect();
    expect((await client.reset({ seed: 7 })).data).toMatchObject({ observation: { text: 'Seed 7.' } });
    expect((await client.reset()).data).toMatchObject({ observation: { text: 'Seed 0.' } });
  });

  it('is of the tasks of a taskset in place of those that its scenario declares', async () => {
    const lines = [line('b', { args: { target: 8 } }), line('a', { args: { target: 9 } }), line('c', { env: 'other' })];
    const directory = directoryWith({ 'tasksets/mine.jsonl': lines.join('\n') });
    const { connect, traces } = await serveOpenEnv({ directory, taskset: 'mine' });
    const client = await connect();
    await client.reset({ seed: 0 });
    await client.reset({ task_id: 'b' });
    expect(await client.reset({ task_id: 'forty' })).toEqual(
      failure('VALIDATION_ERROR', expect.stringContaining('it has 2 tasks')),
    );
    expect((await traces()).map((trace) => trace?.scenario_args.target).sort()).toEqual([8, 9]);
    await expect(serveOpenEnv({ directory, taskset: 'absent' })).rejects.toThrow('absent');
  });

  it('whose environment cannot be opened is a FACTORY_ERROR with its name, and the next one may begin', async () => {
    let isBroken = false;
    const odd = inMemory(() => {
      const env = new EnvironmentServer({ name: 'odd' }).initialize(() => {
        if (isBroken) throw new Error('no floor');
      });
      env.scenario('plain', {}, async function* () {
        yield 'Ask.';
        return 1;
      });
      return env;
    });
    const { connect, traces } = await serveOpenEnv({ environment: ['odd', odd] });
    const client = await connect();
    isBroken = true;
    expect(await client.reset()).toMatchObject({ data: { code: 'FACTORY_ERROR', factory_name: 'odd' } });
    isBroken = false;
    expect((await client.reset()).type).toBe('observation');
    await until(async () => (await traces()).some((trace) => trace?.status === 'failed'));
  });

  it('refuses what its scenario does not take by the name of the field, and the one before goes on', async () => {
    const { connect } = await serveOpenEnv();
    const client = await connect();
    await client.reset({ target: 2 });
    const wrong = [
      [{ target: 'x' }, 'target'],
      [{ target: 1, color: 'red' }, 'color'],
      [{ task_id: 'nope' }, 'task_id'],
      [{ task_id: 'one', target: 1 }, 'task_id'],
      [{ scenario: 'slow_count' }, 'scenario'],
      [{ seed: -1 }, 'seed'],
      [{ seed: 'x' }, 'seed'],
    ] as const;
    for (const [data, field] of wrong) {
      const refused = await client.reset(data);
      expect(refused, JSON.stringify(data)).toEqual(failure('VALIDATION_ERROR'));
      expect(JSON.stringify(refused.data.errors)).toContain(field);
    }
    expect((await client.call('increment', { by: 2 })).data).toMatchObject({ observation: { result: { data: '2' } } });
  });

  it('of an environment with several scenarios is of the one that reset names', async () => {
    const { connect } = await serveOpenEnv({ environment: ['room', createRoom()] });
    const client = await connect();
    expect(await client.reset()).toEqual(failure('VALIDATION_ERROR'));
    expect(await client.reset({ scenario: 'nope' })).toEqual(failure('VALIDATION_ERROR'));
    expect((await client.reset({ scenario: 'shaped' })).data).toMatchObject({
      observation: { system: 'You count rooms.', text: 'Which rooms?' },
    });
    const answer = { rooms: [{ id: 1 }] };
    expect((await client.call('submit_answer', { answer })).data).toMatchObject({ reward: 1, done: true });
    expect(await client.reset({ scenario: 'broken' })).toEqual(
      failure('EXECUTION_ERROR', expect.stringContaining('no such floor')),
    );
    expect((await client.reset({ scenario: 'plain' })).type).toBe('observation');
  });

  it('tells errors of tools apart: no tool, bad arguments, a failure, and a time that is over', async () => {
    const log: RoomLog = { events: [], opened: 0 };
    const { connect } = await serveOpenEnv({ environment: ['room', createRoom(log, () => new Promise(() => {}))] });
    const client = await connect();
    await client.reset({ scenario: 'plain' });
    const errorOf = async (...call: Parameters<typeof client.call>) => {
      const { data } = await client.call(...call);
      return [(data.observation as { error: { error_type: string } }).error.error_type, data.done];
    };
    expect(await errorOf('hidden')).toEqual(['tool_not_found', false]);
    expect(await errorOf('submit_answer', { answer: 1, more: 2 })).toEqual(['invalid_args', false]);
    expect(await errorOf('die')).toEqual(['execution_error', false]);
    expect(await errorOf('wait', {}, { timeout_s: 0.05 })).toEqual(['timeout', false]);
    await until(() => log.events.includes('aborted'));
    expect((await client.call('note')).data).toMatchObject({ observation: { error: null } });
  });

  it('whose environment dies in a call has ended, and another one can begin', async () => {
    const { connect, traces } = await serveOpenEnv({ environment: ['trouble', TROUBLE] });
    const client = await connect();
    await client.reset({ scenario: 'exits_in_a_tool' });
    expect((await client.call('leave')).data).toMatchObject({
      observation: { error: { error_type: 'execution_error', message: expect.stringContaining('without a reward') } },
      done: true,
      reward: null,
    });
    expect(await client.call('leave')).toEqual(failure('EXECUTION_ERROR'));
    expect(await traces()).toMatchObject([{ status: 'failed', error: { boundary: 'environment' } }]);
    expect((await client.reset({ scenario: 'exits_in_a_tool' })).type).toBe('observation');
  });
});

describe('a socket', () => {
  it('lists tools before any reset, and refuses calls then', async () => {
    const { connect, traces } = await serveOpenEnv();
    const client = await connect();
    expect((await client.ask({ type: 'step', data: { type: 'list_tools' } })).type).toBe('observation');
    expect(await client.call('increment')).toEqual(
      failure('EXECUTION_ERROR', expect.stringContaining('call reset first')),
    );
    expect(await client.ask({ type: 'state' })).toMatchObject({ data: { episode_id: null, step_count: 0 } });
    expect(await traces()).toEqual([]);
  });

  it('answers messages in their order, two steps at once among them', async () => {
    const { connect } = await serveOpenEnv();
    const client = await connect();
    const call = (tool_name: string, args = {}) =>
      client.post({ type: 'step', data: { type: 'call_tool', tool_name, arguments: args } });
    client.post({ type: 'reset', data: { target: 2 } });
    call('slow_increment', { delay_ms: 30 });
    call('read');
    for (let count = 0; count < 100; count += 1) call('increment');
    const results = [];
    for (let count = 0; count < 103; count += 1) results.push((await client.next()).data.observation);
    expect(results.slice(1).map((result) => (result as { result: { data: string } }).result.data)).toEqual([
      '1',
      '1',
      ...Array.from({ length: 100 }, (_, index) => String(index + 2)),
    ]);
  });

  it('refuses messages in the words of the protocol', async () => {
    const { connect } = await serveOpenEnv();
    const client = await connect();
    expect(await client.ask('{')).toEqual(failure('INVALID_JSON'));
    expect(await client.ask('['.repeat(100_000))).toEqual(failure('VALIDATION_ERROR'));
    expect(await client.ask({ type: 'dance' })).toEqual(failure('UNKNOWN_TYPE'));
    expect(await client.ask({})).toEqual(failure('UNKNOWN_TYPE'));
    const invalid = [
      { type: 'reset', data: [] },
      { type: 'reset', more: 1 },
      { type: 'step' },
      { type: 'step', data: { type: 'jump' } },
      { type: 'step', data: { type: 'call_tool', tool_name: 1 } },
      { type: 'step', data: { type: 'call_tool', tool_name: 'read', more: 1 } },
      { type: 'step', data: { type: 'call_tool', tool_name: 'read', timeout_s: -1 } },
      { type: 'state', data: {} },
    ];
    for (const message of invalid) {
      const refused = await client.ask(message);
      expect(refused, JSON.stringify(message)).toEqual(failure('VALIDATION_ERROR', 'Invalid message'));
      expect(refused.data.errors).toEqual([
        expect.objectContaining({ loc: expect.any(Array), msg: expect.any(String) }),
      ]);
    }
    expect(await client.ask('[1]')).toEqual(failure('SESSION_ERROR'));
    await client.closed;
    const binary = await connect();
    binary.socket.send(Buffer.from('{"type":"state"}'));
    expect(await binary.next()).toEqual(failure('SESSION_ERROR'));
    const large = await connect();
    large.post(JSON.stringify({ type: 'step', data: { type: 'list_tools', metadata: { x: 'x'.repeat(5 << 20) } } }));
    expect(await large.closed).toBe(1_009);
  });

  it('over the cap is told so and closed, and fits once another has gone', async () => {
    const { connect } = await serveOpenEnv({ maxSessions: 1 });
    const first = await connect();
    const second = await connect();
    expect(await second.next()).toEqual({
      type: 'error',
      data: {
        code: 'CAPACITY_REACHED',
        message: expect.stringContaining('1 session'),
        active_sessions: 1,
        max_sessions: 1,
      },
    });
    await second.closed;
    const rpc = await connect('/mcp');
    expect(await rpc.next()).toMatchObject({ error: { code: -32_000, data: { active_sessions: 1, max_sessions: 1 } } });
    first.socket.close();
    await first.closed;
    await until(async () => {
      const third = await connect();
      return (await third.reset({ target: 1 })).type === 'observation';
    });
  });

  it('has room for its episode as soon as it is one, while the environment of the one before is closed', async () => {
    let letGo = () => {};
    const closing = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const slow = inMemory(() => {
      const env = new EnvironmentServer({ name: 'slow' }).close(() => closing);
      env.scenario('plain', {}, async function* () {
        yield 'Ask.';
        return 1;
      });
      return env;
    });
    const { connect, traces } = await serveOpenEnv({ environment: ['slow', slow], maxSessions: 1 });
    const first = await connect();
    await first.reset();
    first.socket.close();
    await until(async () => (await traces())[0]?.status === 'cancelled');
    const second = await connect();
    expect((await second.reset()).type).toBe('observation');
    letGo();
  });

  it('that says nothing for too long gets SESSION_ERROR and is closed, and its episode expires', async () => {
    const { connect, traces } = await serveOpenEnv({ sessionTtlMs: 50, timing: { lookEveryMs: 5 } });
    const playing = await connect();
    await playing.reset({ target: 2 });
    const idle = await connect();
    expect(await playing.next()).toEqual(failure('SESSION_ERROR'));
    expect(await idle.next()).toEqual(failure('SESSION_ERROR'));
    await Promise.all([playing.closed, idle.closed]);
    await until(async () => (await traces()).every((trace) => trace?.status === 'cancelled'));
    expect(await traces()).toMatchObject([{ stop_reason: 'expired', evaluation: null }]);
  });

  it('whose other end does not answer pings is cut off', async () => {
    const { server, traces, connect } = await serveOpenEnv({ timing: { pingEveryMs: 20 } });
    const silent = await connectOpenEnv(server.url, '/ws', { autoPong: false });
    await silent.reset({ target: 2 });
    expect(await silent.closed).toBe(1_006);
    await until(async () => (await traces())[0]?.stop_reason === 'abandoned');
    const alive = await connect();
    let pings = 0;
    alive.socket.on('ping', () => {
      pings += 1;
    });
    await until(() => pings > 3);
    expect((await alive.reset({ target: 2 })).type).toBe('observation');
  });

  it('that never reads its replies is cut off, however many messages it has sent, and its episode ends', async () => {
    const { server, traces } = await serveOpenEnv({
      environment: ['room', createRoom()],
      timing: { pingEveryMs: 30 },
    });
    const deaf = await connectOpenEnv(server.url);
    await deaf.reset({ scenario: 'plain' });
    deaf.socket.pause();
    // More than it may have waiting, each with a reply that no buffer of the system holds.
    for (let count = 0; count < 30; count += 1) {
      deaf.post({ type: 'step', data: { type: 'call_tool', tool_name: 'tell' } });
    }
    await until(async () => (await traces())[0]?.stop_reason === 'abandoned');
    const calls = (await traces())[0]?.usage.tool_calls ?? 0;
    expect(calls).toBeLessThan(5);
    deaf.socket.terminate();
  });

  it('that goes away in the middle of a step ends its episode', async () => {
    const log: RoomLog = { events: [], opened: 0 };
    const { connect, traces } = await serveOpenEnv({
      environment: ['room', createRoom(log, () => new Promise(() => {}))],
    });
    const client = await connect();
    await client.reset({ scenario: 'plain' });
    client.post({ type: 'step', data: { type: 'call_tool', tool_name: 'wait' } });
    await until(() => log.events.includes('waiting'));
    client.socket.terminate();
    await until(async () => (await traces())[0]?.status === 'cancelled');
    expect(await traces()).toMatchObject([{ stop_reason: 'abandoned', evaluation: null }]);
  });

  it('is refused without its key, with a foreign Origin or Host, and at other paths, before it is one', async () => {
    const { server } = await serveOpenEnv({ apiKey: 'key-of-openenv' });
    const headers = { authorization: 'Bearer key-of-openenv' };
    const open = (path: string, more: object) => connectOpenEnv(server.url, path, { headers: { ...headers, ...more } });
    await expect(connectOpenEnv(server.url)).rejects.toThrow('401');
    await expect(open('/ws', { authorization: 'Bearer other' })).rejects.toThrow('401');
    await expect(open('/ws', { origin: 'https://evil.example' })).rejects.toThrow('403');
    await expect(open('/ws', { host: 'evil.example' })).rejects.toThrow('403');
    await expect(open('/other', {})).rejects.toThrow('404');
    const client = await open('/ws', { origin: 'http://localhost:3000' });
    expect(await client.ask({ type: 'state' })).toMatchObject({ type: 'state' });
    const other = await send(server.url, '/ws', { headers: { ...headers, connection: 'upgrade', upgrade: 'h2c' } });
    expect([other.status, other.json]).toEqual([400, { detail: expect.stringContaining('h2c') }]);
    expect(other.headers['x-request-id']).toBeDefined();
    expect((await send(server.url, '/metadata', {})).status).toBe(401);
    expect((await send(server.url, '/mcp', { method: 'POST', body: '{}' })).status).toBe(401);
  });

  it('is closed with SESSION_ERROR when the server stops, and its episode has failed', async () => {
    const { connect, server, traces } = await serveOpenEnv();
    const client = await connect();
    await client.reset({ target: 1 });
    await server.close();
    expect(await client.next()).toEqual(failure('SESSION_ERROR'));
    expect(await client.closed).toBe(1_001);
    expect(await traces()).toMatchObject([{ status: 'failed', error: { code: 'shutting_down' } }]);
  });
});

describe('JSON-RPC', () => {
  const rpc = (method: string, params: object = {}) => ({ jsonrpc: '2.0', id: 7, method, params });

  it('of a session that carries a reset plays an episode, over HTTP', async () => {
    const { server, traces } = await serveOpenEnv();
    const { url } = server;
    const created = await askRpc(url, 'openenv/session/create', { target: 2 });
    expect(created.result).toMatchObject({ observation: { text: expect.any(String) }, done: false });
    const { session_id } = created.result ?? {};
    const { result } = await askRpc(url, 'tools/list', { session_id });
    expect(result?.tools).toContainEqual(
      expect.objectContaining({ input_schema: expect.anything(), inputSchema: expect.anything() }),
    );
    const call = (name: string, args: object) => askRpc(url, 'tools/call', { name, arguments: args, session_id });
    expect((await call('increment', { by: 2 })).result).toMatchObject({ data: '2', content: [{ text: '2' }] });
    expect((await call('nope', {})).error).toMatchObject({ code: -32_603 });
    const end = await call('submit_answer', { answer: '2' });
    expect(end.result).toMatchObject({ data: { text: 'received', reward: 1, done: true }, reward: 1, done: true });
    expect((await call('increment', {})).error).toMatchObject({ message: expect.stringContaining('call reset first') });
    const close = () => askRpc(url, 'openenv/session/close', { session_id });
    expect((await close()).result).toEqual({ session_id, closed: true });
    expect((await close()).error).toMatchObject({
      code: -32_602,
      message: expect.stringContaining('Unknown session_id'),
    });
    expect((await call('increment', {})).error).toMatchObject({ code: -32_602 });
    expect(await traces()).toMatchObject([{ status: 'completed', reward: 1 }]);
  });

  it('of a session without a scenario calls tools, keeps its state, takes no answer, and leaves no trace', async () => {
    const { server, traces, connect } = await serveOpenEnv();
    const { url } = server;
    const { result } = await askRpc(url, 'openenv/session/create');
    const call = async (name: string, args = {}) =>
      await askRpc(url, 'tools/call', { name, arguments: args, session_id: result?.session_id });
    await call('increment');
    expect((await call('increment')).result).toMatchObject({ data: '2' });
    expect((await call('submit_answer', { answer: '2' })).error?.message).toContain('no scenario');
    for (const name of ['setup', 'evaluate', 'solution', 'count_to']) {
      expect((await call(name, { name: 'count_to' })).error?.message, name).toContain('There is no tool');
    }
    // Without a session each call has an environment of its own.
    const alone = await askRpc(url, 'tools/call', { name: 'increment', arguments: {} });
    expect(alone.result).toMatchObject({ data: '1' });
    const socket = await connect('/mcp');
    await socket.ask(rpc('tools/call', { name: 'increment' }));
    expect(await socket.ask(rpc('tools/call', { name: 'read' }))).toMatchObject({ id: 7, result: { data: '1' } });
    const own = await socket.ask<{ result: { session_id: string } }>(rpc('openenv/session/create'));
    expect(await socket.ask(rpc('openenv/session/close', own.result))).toMatchObject({ error: { code: -32_600 } });
    expect((await askRpc(url, 'tools/list', own.result)).error).toMatchObject({ code: -32_602 });
    expect(await traces()).toEqual([]);
  });

  it('comes by a message of /ws too, and tells its own errors', async () => {
    const { connect, server } = await serveOpenEnv({ maxSessions: 2 });
    const client = await connect();
    await client.reset({ target: 1 });
    const call = rpc('tools/call', { name: 'increment' });
    expect(await client.ask({ type: 'mcp', data: call })).toMatchObject({
      type: 'mcp',
      data: { jsonrpc: '2.0', id: 7, result: { data: '1' } },
    });
    const { url } = server;
    const raw = async (body: string) => (await send(url, '/mcp', { method: 'POST', body })).json;
    expect(await raw('{')).toMatchObject({ id: null, error: { code: -32_700 } });
    expect(await raw('[]')).toMatchObject({ error: { code: -32_600 } });
    expect(await raw(JSON.stringify({ ...call, extra: 1 }))).toMatchObject({ error: { code: -32_600 } });
    expect((await askRpc(url, 'prompts/list')).error).toMatchObject({ code: -32_601 });
    expect((await askRpc(url, 'tools/call', {})).error).toMatchObject({ code: -32_602 });
    expect((await askRpc(url, 'openenv/session/create', { target: 'x' })).error).toMatchObject({ code: -32_602 });
    expect((await askRpc(url, 'openenv/session/create')).error).toBeUndefined();
    expect((await askRpc(url, 'openenv/session/create')).error).toMatchObject({
      code: -32_000,
      data: { active_sessions: 2, max_sessions: 2 },
    });
    expect((await send(url, '/mcp', {})).status).toBe(405);
  });
});

describe('an OpenEnv server', () => {
  it('has the routes of the protocol, each for itself, and those of all servers', async () => {
    const { server, traces } = await serveOpenEnv();
    const ask = async (path: string, body?: object) => {
      const reply = await send(server.url, path, body && { method: 'POST', body: JSON.stringify(body) });
      return [reply.status, reply.json];
    };
    expect(await ask('/health')).toEqual([200, { status: 'healthy' }]);
    expect(await ask('/metadata')).toMatchObject([200, { name: 'counter', description: expect.any(String) }]);
    expect(await ask('/schema')).toMatchObject([200, { action: {}, observation: {}, state: { type: 'object' } }]);
    expect(await ask('/state')).toMatchObject([200, { episode_id: null, step_count: 0 }]);
    expect(await ask('/reset', { target: 2 })).toMatchObject([
      200,
      { observation: { text: expect.any(String) }, done: false },
    ]);
    expect(await ask('/reset', { target: 'x' })).toEqual([
      422,
      { detail: [expect.objectContaining({ loc: [expect.stringContaining('target')] })] },
    ]);
    expect(await ask('/step', { action: { type: 'list_tools' }, request_id: 'r' })).toMatchObject([
      200,
      { reward: null },
    ]);
    const call = { type: 'call_tool', tool_name: 'read' };
    expect(await ask('/step', { action: call })).toEqual([
      409,
      { detail: expect.stringContaining('call reset first') },
    ]);
    expect(await ask('/step', {})).toEqual([422, { detail: [expect.objectContaining({ loc: ['action'] })] }]);
    expect(await traces()).toMatchObject([{ status: 'cancelled', stop_reason: 'abandoned' }]);
    for (const path of ['/healthz', '/readyz', '/metrics', '/openapi.json']) {
      expect((await send(server.url, path)).status, path).toBe(200);
    }
    expect(await ask('/nothing')).toEqual([404, { detail: expect.stringContaining('Unknown URL') }]);
  });

  it('never reaches setup, evaluation or solutions, by any route and any name', async () => {
    const { server, connect, traces } = await serveOpenEnv();
    const client = await connect();
    await client.reset({ target: 2 });
    const names = ['setup', 'evaluate', 'solution', 'evaluation', 'count_to', '__proto__', 'svc://scenarios', 'reset'];
    for (const name of names) {
      const args = { name: 'count_to', answer: '2', scenario: 'count_to' };
      const stepped = await client.call(name, args);
      expect(stepped.data, name).toMatchObject({
        observation: { result: null, error: { error_type: 'tool_not_found' } },
      });
      const data = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } };
      expect(await client.ask({ type: 'mcp', data }), name).toMatchObject({ data: { error: { code: -32_603 } } });
    }
    for (const method of ['resources/read', 'resources/list', 'prompts/get', 'initialize', 'svc/evaluate']) {
      const data = { jsonrpc: '2.0', id: 1, method, params: { uri: 'svc://scenarios', name: 'count_to' } };
      expect(await client.ask({ type: 'mcp', data })).toMatchObject({ data: { error: { code: -32_601 } } });
      expect((await askRpc(server.url, method)).error).toMatchObject({ code: -32_601 });
    }
    const shown = JSON.stringify([
      await client.ask({ type: 'state' }),
      await client.ask({ type: 'step', data: { type: 'list_tools' } }),
      (await send(server.url, '/metadata')).json,
      (await send(server.url, '/schema')).json,
      (await askRpc(server.url, 'tools/list')).result,
    ]);
    expect(shown).not.toMatch(/"(setup|evaluat\w*|solution)"/);
    const wrong = await client.call('submit_answer', { answer: '0' });
    expect(wrong.data).toMatchObject({ reward: 0, done: true });
    expect(JSON.stringify(wrong)).not.toMatch(/subscores|info|counted/);
    expect((await traces())[0]?.steps).toEqual([]);
  });

  it('does not start for tools whose names the protocol keeps, for an unknown scenario, or without scenarios', async () => {
    const named = (tool: string | undefined) =>
      inMemory(() => {
        const env = new EnvironmentServer({ name: 'odd' });
        if (tool === undefined) return env;
        env.tool(tool, {}, () => 'x');
        env.scenario('plain', {}, async function* () {
          yield 'Ask.';
          return 1;
        });
        return env;
      });
    await expect(serveOpenEnv({ environment: ['odd', named('reset')] })).rejects.toThrow('reset');
    await expect(serveOpenEnv({ environment: ['odd', named(undefined)] })).rejects.toThrow('no scenario');
    await expect(serveOpenEnv({ environment: ['odd', named('x')], scenario: 'y' })).rejects.toThrow('plain');
    await expect(serveOpenEnv({ host: '0.0.0.0' })).rejects.toThrow('PROCTOR_OPENENV_API_KEY');
  });
});
