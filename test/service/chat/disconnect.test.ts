import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { systemTiming } from '../../../src/models/gateway/retries.ts';
import { calls, delta, frames, json, type Play, says } from '../../gateway.ts';
import { deferred } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { createStage, type Point } from './fixtures/stage.ts';
import { beginStream, holdRequest, type OpenChat, openChat, withinASecond } from './open-chat.ts';
import { completionOf, serve, sessionsOf, svcOf, type TestServer, untilFree } from './server.ts';

const playing = { scenario: 'play', scenario_args: {} };
const bodyOf = (message: string, fields: object) => ({ messages: [{ role: 'user', content: message }], ...fields });

/** Requests of the gateway whose connection is open. */
function counted(): { readonly open: number; wrap(play: Play): Play } {
  let open = 0;
  return {
    get open() {
      return open;
    },
    wrap: (play) => async (response, request) => {
      open += 1;
      response.on('close', () => {
        open -= 1;
      });
      await play(response, request);
    },
  };
}

async function serveStage(...plays: readonly Play[]) {
  const stage = createStage();
  const gateway = counted();
  const server = await serve({
    environments: new Map([['stage', stage.target]]),
    plays: plays.map((play) => gateway.wrap(play)),
  });
  return { stage, gateway, server };
}

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

/** The only session of the server, once its turn has ended. */
async function sessionOf(server: TestServer) {
  const find = async () => sessionsOf(await server.get('/v1/sessions?status=all'))[0];
  await until(async () => (await find())?.status !== 'active');
  return await find();
}

/** The next turn of a session, once the turn that was given up has ended. */
async function nextTurn(server: TestServer, message: string, thread_id: string) {
  return await untilFree(() => server.chat(message, { thread_id }));
}

describe('a client that goes away in its first turn', () => {
  it('inside its request leaves no session', async () => {
    const { server } = await serveStage(says('Done.'));
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    const head = 'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n';
    socket.write(`${head}content-length: 1000\r\n\r\n{"messages":`);
    await until(async () => (await server.get('/healthz')).status === 200);
    socket.destroy();
    await server.get('/v1/sessions');
    expect(sessionsOf(await server.get('/v1/sessions?status=all'))).toEqual([]);
    expect(server.gateway.requests).toEqual([]);
  });

  it.each<readonly [where: string, point: Point, stream: boolean]>([
    ['while the environment connects', 'connect', false],
    ['while the environment connects, streamed', 'connect', true],
    ['inside setup', 'setup', false],
    ['inside setup, streamed', 'setup', true],
  ])('%s stops that within a second, and its session is failed', async (_where, point, stream) => {
    const { stage, server } = await serveStage(says('Done.'));
    const held = stage.hold(point);
    const chat = openChat(server.url, bodyOf('Go.', { ...playing, stream }));
    await held.reached;
    chat.leave();
    if (point === 'setup') await withinASecond('setup is aborted', held.aborted);
    await withinASecond('its session ends', sessionOf(server));
    expect(await sessionOf(server)).toMatchObject({ status: 'failed', steps: 0 });
    held.open();
    await until(() => stage.open === 0);
    expect(server.gateway.requests).toEqual([]);
    expect((await server.chat('Go.', playing)).status).toBe(200);
  });

  it.each<readonly [where: string, stream: boolean, pieces: readonly string[]]>([
    ['before the first byte', false, []],
    ['before the first byte, streamed', true, []],
    ['inside a delta', false, ['Half', ' of']],
    ['inside a delta, streamed', true, ['Half', ' of']],
  ])('%s drops the gateway request within a second, and its session is failed', async (_where, stream, pieces) => {
    const held = holdRequest();
    const { stage, gateway, server } = await serveStage(held.play, says('Done.'));
    const chat = openChat(server.url, bodyOf('Go.', { ...playing, stream }));
    const response = await held.asked;
    if (pieces.length > 0) beginStream(response, ...pieces);
    if (stream && pieces.length > 0) await chat.heard('Half');
    chat.leave();
    await withinASecond('the gateway request is dropped', held.dropped);
    const session = await sessionOf(server);
    expect(session).toMatchObject({ status: 'failed', turns: 1, steps: 0 });
    expect(await server.store.trace(session?.trace_id ?? '')).toMatchObject({
      status: 'failed',
      stop_reason: 'error',
      error: { message: expect.stringContaining('client went away') },
    });
    await until(() => stage.open === 0 && gateway.open === 0);
    expect((await server.chat('Go.', playing)).status).toBe(200);
  });

  it('three times, as SDKs send a first turn again, leaves nothing behind', async () => {
    const held = [holdRequest(), holdRequest(), holdRequest()];
    const { stage, gateway, server } = await serveStage(...held.map(({ play }) => play));
    for (const [index, { asked, dropped }] of held.entries()) {
      const chat = openChat(server.url, bodyOf('Go.', playing), {
        headers: { 'x-stainless-retry-count': String(index) },
      });
      await asked;
      chat.leave();
      await dropped;
    }
    await until(() => stage.open === 0 && gateway.open === 0);
    const ended = sessionsOf(await server.get('/v1/sessions?status=all'));
    expect(ended.map(({ status }) => status)).toEqual(['failed', 'failed', 'failed']);
    expect(sessionsOf(await server.get('/v1/sessions'))).toEqual([]);
  });
});

interface Leaving {
  readonly stream: boolean;
  /** How the gateway answers the turn; the next turn gets "Next.". */
  readonly plays: readonly Play[];
  readonly point?: Point;
  /** Resolves when the client may go, and gives what has to see it. */
  come(
    chat: OpenChat,
    held: ReturnType<ReturnType<typeof createStage>['hold']>,
  ): Promise<{ readonly seen: Promise<void> }>;
  /** Steps of the session after the turn. */
  readonly steps: number;
}

function inTheGateway(stream: boolean, before: readonly Play[], pieces: readonly string[]): Leaving {
  const held = holdRequest();
  return {
    stream,
    plays: [...before, held.play],
    steps: 1 + before.length,
    async come(chat) {
      const response = await held.asked;
      if (pieces.length > 0) beginStream(response, ...pieces);
      if (stream && pieces.length > 0) await chat.heard(pieces.join(''));
      return { seen: held.dropped };
    },
  };
}

const inATool = (stream: boolean): Leaving => ({
  stream,
  plays: [calls(['wait', {}])],
  point: 'tool',
  steps: 2,
  async come(_chat, held) {
    await held.reached;
    return { seen: held.aborted };
  },
});

describe('a client that goes away in a later turn', () => {
  it.each<readonly [where: string, leaving: () => Leaving]>([
    ['before the first byte', () => inTheGateway(false, [], [])],
    ['before the first byte, streamed', () => inTheGateway(true, [], [])],
    ['inside a delta', () => inTheGateway(false, [], ['Half'])],
    ['inside a delta, streamed', () => inTheGateway(true, [], ['Half'])],
    ['inside a tool call', () => inATool(false)],
    ['inside a tool call, streamed', () => inATool(true)],
    ['between two steps', () => inTheGateway(false, [calls(['note', { text: 'a' }])], [])],
    ['between two steps, streamed', () => inTheGateway(true, [calls(['note', { text: 'a' }])], [])],
  ])('%s aborts the turn within a second, and leaves the session free for the next', async (_where, toLeaving) => {
    const leaving = toLeaving();
    const { stage, gateway, server } = await serveStage(says('Ready.'), ...leaving.plays, says('Next.'));
    const { session_id: thread_id, trace_id } = svcOf(await server.chat('Go.', playing));
    const held = stage.hold(leaving.point ?? 'evaluate');
    const chat = openChat(server.url, bodyOf('More.', { thread_id, stream: leaving.stream }));
    const { seen } = await leaving.come(chat, held);
    chat.leave();
    await withinASecond('what runs sees it', seen);
    const next = await nextTurn(server, 'Next.', thread_id);
    expect(completionOf(next).choices[0].message.content).toBe('Next.');
    expect(svcOf(next)).toMatchObject({ status: 'active', steps: leaving.steps + 1 });
    await until(() => gateway.open === 0);
    const trace = await server.store.trace(trace_id);
    expect(trace?.turns.map(({ status }) => status)).toEqual(['answered', 'aborted', 'answered']);
    held.open();
    expect((await server.post(`/v1/sessions/${thread_id}/finish`)).json).toMatchObject({ reward: 1, answer: 'Next.' });
    await until(() => stage.open === 0);
  });

  it('while a failed try waits for the next is not tried again', async () => {
    const { stage, server } = await serveStage();
    const slept = deferred<void>();
    const stopped = deferred<void>();
    const timing = {
      ...systemTiming,
      sleep: (milliseconds: number, signal: AbortSignal) => {
        slept.resolve();
        signal.addEventListener('abort', () => stopped.resolve());
        return systemTiming.sleep(milliseconds, signal);
      },
    };
    const busy = await serve({ plays: [json(503, {}, { 'retry-after': '60' })] });
    const other = await serve({
      environments: new Map([['stage', stage.target]]),
      models: createModels({ gatewayUrl: busy.gateway.url, timing }),
    });
    const chat = openChat(other.url, bodyOf('Go.', playing));
    await slept.promise;
    chat.leave();
    await withinASecond('the wait ends', stopped.promise);
    expect(await sessionOf(other)).toMatchObject({ status: 'failed' });
    expect(busy.gateway.requests).toHaveLength(1);
    expect(server.gateway.requests).toEqual([]);
    await until(() => stage.open === 0);
  });
});

describe('a client that goes away while its session is finished', () => {
  it('finds the result when it comes back: evaluation runs once', async () => {
    const { stage, server } = await serveStage(says('Done.'));
    const { session_id } = svcOf(await server.chat('Go.', playing));
    const held = stage.hold('evaluate');
    const path = `/v1/sessions/${session_id}/finish`;
    const leaving = new AbortController();
    const gone = fetch(`${server.url}${path}`, { method: 'POST', signal: leaving.signal }).catch(() => 'gone');
    await held.reached;
    leaving.abort();
    expect(await gone).toBe('gone');
    const again = server.post(path);
    held.open();
    expect((await again).json).toMatchObject({ status: 'finished', reward: 1, answer: 'Done.' });
    await until(() => stage.open === 0);
  });
});

describe('clients that go away', () => {
  let before = 0;
  // Those of the test's own connections end a moment after it.
  afterEach(() => until(() => timers() <= before));

  it('leave no timer, no gateway request and no environment behind, however often', async () => {
    const rounds = 10;
    const held = Array.from({ length: rounds }, () => holdRequest());
    const { stage, gateway, server } = await serveStage(says('Ready.'), ...held.map(({ play }) => play), says('Done.'));
    const { session_id: thread_id } = svcOf(await server.chat('Go.', playing));
    await until(() => gateway.open === 0);
    before = timers();
    for (const [index, { asked, dropped }] of held.entries()) {
      const isStreamed = index % 2 === 0;
      const chat = openChat(server.url, bodyOf('More.', { thread_id, stream: isStreamed }));
      const response = await asked;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(frames(delta({ content: 'Half' })));
      if (isStreamed) await chat.heard('Half');
      chat.leave();
      await dropped;
      await until(async () => (await server.get(`/v1/sessions/${thread_id}`)).text.includes(`"turns":${index + 2}`));
    }
    expect((await nextTurn(server, 'Done?', thread_id)).status).toBe(200);
    await until(() => gateway.open === 0);
    expect(stage.open).toBe(1);
    await server.post(`/v1/sessions/${thread_id}/finish`);
    await until(() => stage.open === 0);
    await server.close();
  });
});
