import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { createSessionEngine } from '../../../src/service/chat/session-engine.ts';
import { openDatabase } from '../../../src/store/database/open-database.ts';
import { createTraceStore } from '../../../src/store/traces/database-store.ts';
import { processesNamed } from '../../environment/client/processes.ts';
import { createLab } from '../../environment/dev/project.ts';
import { calls, says } from '../../gateway.ts';
import { until } from '../../until.ts';
import { beginStream, holdRequest, openChat } from './open-chat.ts';
import { errorOf, finishedOf, framesOf, serve, svcOf, type TestServer } from './server.ts';

/** An environment whose tools say which process they run in, and wait for ever. */
const SOURCE = `import { EnvironmentServer } from 'proctor';

export default function lab() {
  const env = new EnvironmentServer({ name: 'lab', version: '1.0.0' });
  let calls = 0;
  env.initialize(() => console.error('initialized by ' + process.pid));
  env.tool('pid', {}, () => {
    calls += 1;
    return process.pid;
  });
  env.tool('stay', {}, () => new Promise<void>(() => {}));
  env.tool('exit', {}, () => {
    console.error('out of paper');
    process.exit(7);
  });
  env.scenario('exam', { solution: () => ({ calls: [{ name: 'pid', arguments: {} }], answer: 'done' }) }, async function* () {
    yield 'Ask for the process once.';
    return calls === 1 ? 1 : 0;
  });
  return env;
}
`;

/** Files for processes of its own: nothing of them may be left when the test has closed what it opened. */
function createProcesses() {
  const { path } = createLab(SOURCE);
  const target: EnvironmentTarget = { kind: 'module', path };
  return { environments: new Map([['lab', target]]), target, pids: () => processesNamed(path) };
}

const EXAM = { scenario: 'exam', scenario_args: {} };

/** The result of the last tool call that the gateway was told of. */
function lastResult({ gateway }: TestServer): number {
  const messages = gateway.requests.at(-1)?.body.messages as { role: string; content: string }[];
  return Number(messages.findLast(({ role }) => role === 'tool')?.content);
}

const statusOf = async (server: TestServer, id: string) =>
  ((await server.get(`/v1/sessions/${id}`)).json as { status: string }).status;

describe('a session in a process', { timeout: 90_000 }, () => {
  it('starts in one that waits, which is its own from then on, with what that has logged', async () => {
    const { environments, target, pids } = createProcesses();
    const database = await openDatabase('sqlite::memory:');
    const store = createTraceStore(database, { appUrl: 'https://app.example' });
    const engine = createSessionEngine({
      environments,
      database,
      store,
      models: createModels({}),
      model: 'proctor/oracle',
      logger: pino({ level: 'silent' }),
      warmProcesses: 1,
      isWarmAtStart: true,
    });
    onTestFinished(async () => {
      await engine.close(0);
      await database.close();
    });
    const play = async () => {
      const started = await engine.registry.start({
        account: 'local',
        scenario: 'exam',
        args: {},
        model: undefined,
        maxSteps: undefined,
        sampling: {},
      });
      const options = { signal: new AbortController().signal, limitMs: 60_000 };
      await started.turn([], options);
      expect((await started.finish(undefined)).reward).toBe(1);
      await started.closed;
      const trace = await store.trace(started.traceId);
      const [log] = trace?.logs ?? [];
      return Number(/^initialized by (\d+)$/.exec(log?.message ?? '')?.[1]);
    };
    const seen: number[] = [];
    for (let session = 0; session < 2; session += 1) {
      await until(() => engine.pool.ready(target) === 1);
      const waiting = pids();
      const pid = await play();
      expect(waiting).toContain(pid);
      seen.push(pid);
    }
    expect(new Set(seen).size).toBe(2);
    await engine.close(0);
    expect(pids()).toEqual([]);
  });

  it('fails alone when that is killed in the middle of a turn, with an error that says so', async () => {
    const { environments, pids } = createProcesses();
    const server = await serve({
      environments,
      warmProcesses: 0,
      plays: [
        calls(['pid', {}]),
        says('One.'),
        calls(['pid', {}]),
        says('Two.'),
        calls(['stay', {}]),
        says('Still here.'),
      ],
    });
    const one = svcOf(await server.chat('Go.', EXAM)).session_id;
    const pid = lastResult(server);
    const other = svcOf(await server.chat('Go.', EXAM)).session_id;
    expect(lastResult(server)).not.toBe(pid);

    const running = server.chat('Stay.', { thread_id: one });
    await until(() => server.gateway.requests.length === 5);
    process.kill(pid, 'SIGKILL');
    const failed = await running;
    expect(errorOf(failed)).toEqual([502, 'environment_failed', null]);
    expect(failed.text).toContain('was ended by the signal SIGKILL');
    expect(failed.headers['x-svc-session-id']).toBe(one);
    expect(await statusOf(server, one)).toBe('failed');
    const late = await server.chat('Go on.', { thread_id: one });
    expect(errorOf(late)).toEqual([409, 'session_finished', null]);
    expect(late.text).toContain('was ended by the signal SIGKILL');
    const trace = await server.store.trace(String(failed.headers['x-svc-trace-id']));
    expect(trace).toMatchObject({ status: 'failed', stop_reason: 'error', error: { code: 'environment_failed' } });

    expect((await server.chat('And you?', { thread_id: other })).text).toContain('Still here.');
    expect(finishedOf(await server.post(`/v1/sessions/${other}/finish`)).reward).toBe(1);
    await server.server.close();
    expect(pids()).toEqual([]);
  });

  it.each([false, true])('fails at once when that dies while the model is asked: streamed %s', async (stream) => {
    const { environments, pids } = createProcesses();
    const [first, later] = [holdRequest(), holdRequest()];
    const server = await serve({
      environments,
      warmProcesses: 0,
      plays: [first.play, calls(['pid', {}]), says('One.'), later.play],
    });
    const starting = server.chat('Go.', { ...EXAM, stream });
    await first.asked;
    for (const pid of pids()) process.kill(pid, 'SIGKILL');
    const never = await starting;
    await first.dropped;
    expect(errorOf(never)).toEqual([502, 'environment_failed', null]);
    expect(never.text).toContain('was ended by the signal SIGKILL');

    const { session_id: thread_id, trace_id } = svcOf(await server.chat('Go.', EXAM));
    const running = openChat(server.url, { messages: [{ role: 'user', content: 'Wait.' }], thread_id, stream });
    const response = await later.asked;
    if (stream) {
      beginStream(response, 'Half');
      await running.heard('Half');
    }
    process.kill(lastResult(server), 'SIGKILL');
    // The gateway hangs, and is not waited for.
    await later.dropped;
    await running.ended;
    expect((await running.begun).statusCode).toBe(stream ? 200 : 502);
    expect(running.text).toMatch(
      /"error":\{"message":"[^}]*was ended by the signal SIGKILL[^}]*"environment_failed"\}/,
    );
    expect(await statusOf(server, thread_id)).toBe('failed');
    const refused = await server.chat('Go on.', { thread_id });
    expect(errorOf(refused)).toEqual([409, 'session_finished', null]);
    expect(refused.text).toContain('was ended by the signal SIGKILL');
    expect(await server.store.trace(trace_id)).toMatchObject({
      status: 'failed',
      turns: [{ status: 'answered' }, { status: 'failed' }],
      error: { boundary: 'environment', code: 'environment_failed' },
    });
    await server.server.close();
    expect(pids()).toEqual([]);
  });

  it('fails as soon as that dies between two turns', async () => {
    const { environments } = createProcesses();
    const server = await serve({ environments, warmProcesses: 0, plays: [calls(['pid', {}]), says('One.')] });
    const { session_id, trace_id } = svcOf(await server.chat('Go.', EXAM));
    process.kill(lastResult(server), 'SIGKILL');
    await until(async () => (await statusOf(server, session_id)) !== 'active');
    expect(await statusOf(server, session_id)).toBe('failed');
    const finish = await server.post(`/v1/sessions/${session_id}/finish`);
    expect(errorOf(finish)).toEqual([409, 'session_finished', null]);
    expect(finish.text).toContain('The environment \\"lab\\" was ended by the signal SIGKILL');
    expect(await server.store.trace(trace_id)).toMatchObject({ status: 'failed', turns: [{ status: 'answered' }] });
  });

  it('ends its stream with an error frame when that exits in a tool', async () => {
    const { environments } = createProcesses();
    const server = await serve({ environments, warmProcesses: 0, plays: [calls(['exit', {}])] });
    const streamed = await server.chat('Go.', { ...EXAM, stream: true, stream_options: { svc_events: true } });
    const frames = framesOf(streamed);
    expect(frames).not.toContain('[DONE]');
    expect(frames.at(-1)).toMatchObject({ error: { code: 'environment_failed' } });
    expect(streamed.text).toContain('exited with code 7');
    expect(await statusOf(server, String(streamed.headers['x-svc-session-id']))).toBe('failed');
  });

  it('leaves no process when the server is closed: neither its own nor one that waits or starts', async () => {
    const { environments, pids } = createProcesses();
    const server = await serve({ environments, warmProcesses: 2, isWarmAtStart: true, plays: [calls(['stay', {}])] });
    const running = server.chat('Go.', EXAM);
    await until(() => server.gateway.requests.length === 1);
    expect(pids().length).toBeGreaterThan(0);
    await server.server.close();
    expect(pids()).toEqual([]);
    expect(errorOf(await running)).toEqual([503, 'shutting_down', null]);
  });

  it('waits for a place in a shared process, and is refused with the numbers as the status of its reply, streamed too', async () => {
    const { target } = createProcesses();
    const environments = new Map([['lab', { ...target, limits: { sessionsPerProcess: 2 } }]]);
    const turnLimits = { keepAliveMs: 20 };
    const server = await serve({ environments, hosts: 1, startTimeoutMs: 500, turnLimits, plays: [says('Hello.')] });
    const [first] = await Promise.all([server.chat('Go.', EXAM), server.chat('Go.', EXAM)]);
    for (const stream of [false, true]) {
      const refused = await server.chat('Go.', { ...EXAM, stream });
      expect(errorOf(refused)).toEqual([503, 'capacity_exceeded', null]);
      expect(refused.json).toMatchObject({ error: { message: expect.stringContaining('1 active, 0 starting') } });
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    }
    await server.remove(`/v1/sessions/${svcOf(first).session_id}`);
    expect((await server.chat('Go.', EXAM)).status).toBe(200);
  });
});
