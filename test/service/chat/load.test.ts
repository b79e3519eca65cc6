import { createHook } from 'node:async_hooks';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createCountingClient,
  type Post,
  playSession,
  playTurnBy,
  toTask,
} from '../../../bench/scenario-server/players.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import type { Reply } from '../../support/http/http-server.ts';
import { until } from '../../until.ts';
import { counting, errorOf, framesOf, serve, sessionsOf } from './server.ts';

const SESSIONS = 60;
const TURNS = 3;

/** Timers of this process that were set from now on and are not over, those that do not hold it open among them. */
function watchTimers() {
  const live = new Set<number>();
  const hook = createHook({
    init: (id, type) => void (type === 'Timeout' && live.add(id)),
    destroy: (id) => void live.delete(id),
  });
  hook.enable();
  onTestFinished(() => void hook.disable());
  return live;
}

/** Sockets, pipes and the like of this process. */
const handles = () =>
  process.getActiveResourcesInfo().filter((type) => type !== 'Timeout' && type !== 'Immediate' && !type.endsWith('Req'))
    .length;

describe('many sessions at once', { timeout: 240_000 }, () => {
  it('by all surfaces have the answers and the reward of their own, and leave nothing', async () => {
    const server = await serve({ models: createModels({ client: createCountingClient() }) });
    const post: Post = server.post;
    const plans = Array.from({ length: SESSIONS }, (_, number) => ({ number, turns: TURNS }));
    await playSession(post, { number: 1, turns: 3 }); // what is made once is there before it is counted
    const timers = watchTimers();
    const before = handles();

    const played = await Promise.all(plans.map((plan) => playSession(post, plan)));

    expect(new Set(played.map(({ sessionId }) => sessionId)).size).toBe(SESSIONS);
    expect(sessionsOf(await server.get('/v1/sessions'))).toEqual([]);
    const kept = new Map(
      sessionsOf(await server.get('/v1/sessions?status=all')).map((entry) => [entry.session_id, entry]),
    );
    for (const plan of plans) {
      const { sessionId, traceId } = played[plan.number] as (typeof played)[number];
      const { target, reward } = toTask(plan);
      const [turns, steps] = [TURNS, 2 * TURNS];
      expect(kept.get(sessionId)).toMatchObject({ status: 'finished', scenario_args: { target }, turns, steps });
      const trace = await server.store.trace(traceId);
      expect(trace).toMatchObject({ status: 'completed', scenario_args: { target }, reward });
      expect([trace?.turns.length, trace?.steps.length]).toEqual([turns, steps]);
    }
    // Without `until`, which sets timers of its own.
    for (let wait = 0; wait < 3_000 && (timers.size > 0 || handles() > before); wait += 1) {
      await delay(10);
      await nextTurn(); // by which the timer of this wait is known to be over
    }
    expect(timers.size).toBe(0);
    expect(handles()).toBeLessThanOrEqual(before);
  });

  it('on a close end with an answer or an error, although turns hang, and keep their results', async () => {
    const shutdownGraceMs = 4_000;
    const counted = createCountingClient();
    let asked = 0;
    const create = (body: object) => {
      if (/"(Slow 300|Wait)\."}]/.test(JSON.stringify(body))) asked += 1;
      return counted.chat.completions.create(body);
    };
    const models = createModels({ client: { chat: { completions: { create } } } });
    const server = await serve({ models, shutdownGraceMs });
    const post: Post = server.post;
    const finished = await Promise.all(
      Array.from({ length: 10 }, (_, number) => playSession(post, { number, turns: 2 })),
    );
    const started = await Promise.all(
      Array.from({ length: 60 }, async (_, number) => {
        const isSlow = number % 2 === 0;
        const start = isSlow ? counting(1) : { scenario: 'keep', scenario_args: { wanted: [] } };
        const { sessionId } = await playTurnBy(post, 'plain', 'Hello.', start);
        return { sessionId, isSlow, stream: number % 4 < 2 };
      }),
    );
    const running = started.map(async ({ sessionId, isSlow, stream }) => {
      const message = isSlow ? 'Slow 300.' : 'Wait.';
      const options = { thread_id: sessionId, stream, stream_options: { svc_events: true } };
      return { isSlow, stream, reply: await server.chat(message, options) };
    });
    await until(() => asked === started.length);

    await server.server.close();
    for (const { isSlow, stream, reply } of await Promise.all(running)) {
      const end = stream ? endOfStream(reply) : endOfReply(reply);
      expect(isSlow ? ['answered', 'shutting_down'] : ['shutting_down']).toContain(end);
    }
    const again = await serve({ database: server.database, store: server.store });
    const all = sessionsOf(await again.get('/v1/sessions?status=all'));
    expect(all).toHaveLength(70);
    expect(
      new Set(started.map(({ sessionId }) => all.find((entry) => entry.session_id === sessionId)?.status)),
    ).toEqual(new Set(['failed']));
    for (const { sessionId, reward } of finished) {
      const result = await again.post(`/v1/sessions/${sessionId}/finish`);
      expect(result.json).toMatchObject({ status: 'finished', reward });
    }
  });
});

function endOfReply(reply: Reply): string {
  return reply.status === 200 ? 'answered' : errorOf(reply)[1];
}

function endOfStream(reply: Reply): string {
  if (reply.status !== 200) return endOfReply(reply);
  const last = framesOf(reply).at(-1);
  return last === '[DONE]' ? 'answered' : (last?.error?.code ?? 'cut');
}
