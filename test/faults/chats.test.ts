import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, type TestContext, test } from 'vitest';
import { processesNamed } from '../environment/client/processes.ts';
import { openChat } from '../service/chat/open-chat.ts';
import { errorOf, openServer, sessionsOf, svcOf, type TestServer } from '../service/chat/server.ts';
import type { Reply } from '../support/http/http-server.ts';
import { until } from '../until.ts';
import { temporaryDirectory } from './deployment.ts';
import { IS_FULL, SEED, SIDE_BY_SIDE } from './form.ts';
import { copyHosted, play } from './hosted.ts';
import { seededRandom } from './seeded-random.ts';

const CLIENTS = IS_FULL ? 500 : 100;
const PATIENT = IS_FULL ? 40 : 10;
const SESSIONS = 200;
const HANGS_EVERY = 10;
const WITHIN = { withinMs: 60_000 } as const;

const { scenario_name: scenario, scenario_args } = play();
const START = { scenario, scenario_args };

interface HostedServer extends TestServer {
  /** Sum of a gauge. */
  gauge(name: string): Promise<number>;
  active(): Promise<readonly string[]>;
}

/** A scenario server whose sessions share one process. Nothing is left of it at the end. */
async function serveHosted(
  { onTestFinished }: TestContext,
  { sessionsPerProcess, env = {} }: { readonly sessionsPerProcess: number; readonly env?: Record<string, string> },
): Promise<HostedServer> {
  const { path } = copyHosted(temporaryDirectory(onTestFinished));
  const target = { kind: 'module', path, env, limits: { sessionsPerProcess } } as const;
  const server = await openServer({ environments: new Map([['hosted', target]]), hosts: 1 });
  onTestFinished(async () => {
    await server.close();
    await until(() => expect(processesNamed(path)).toEqual([]), WITHIN);
  });
  return {
    ...server,
    async gauge(name) {
      const { text } = await server.get('/metrics');
      const lines = text.split('\n').filter((line) => line.startsWith(name));
      return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
    },
    active: async () => sessionsOf(await server.get('/v1/sessions')).map(({ session_id }) => session_id),
  };
}

/** Until no session and no request has a place, or waits for one. */
async function untilEmpty(server: HostedServer): Promise<void> {
  await until(async () => {
    for (const id of await server.active()) await server.post(`/v1/sessions/${id}/finish`);
    expect(await server.active()).toEqual([]);
    expect(await server.gauge('proctor_starts_waiting')).toBe(0);
    expect(await server.gauge('proctor_host_sessions')).toBe(0);
  }, WITHIN);
}

describe('chat clients', SIDE_BY_SIDE, () => {
  test(`of whom ${CLIENTS} go away while they wait for a place leave nothing, and a later one is served`, async (context) => {
    const server = await serveHosted(context, { sessionsPerProcess: 2 });
    const held = await Promise.all([server.chat('Hello.', START), server.chat('Hello.', START)]);
    expect(held.map(({ status }) => status)).toEqual([200, 200]);
    const body = { messages: [{ role: 'user', content: 'Hello.' }], ...START };
    const clients = Array.from({ length: CLIENTS }, () => openChat(server.url, body));
    await until(async () => expect(await server.gauge('proctor_starts_waiting')).toBe(CLIENTS), WITHIN);
    for (const client of clients) client.leave();
    await until(async () => expect(await server.gauge('proctor_starts_waiting')).toBe(0), WITHIN);
    const ids = held.map((reply) => svcOf(reply).session_id).toSorted();
    // The session of a client that has left ends a moment after its place in the line.
    await until(async () => expect((await server.active()).toSorted()).toEqual(ids), WITHIN);
    await until(async () => expect(await server.gauge('proctor_host_sessions')).toBe(2), WITHIN);
    await server.post(`/v1/sessions/${svcOf(held[0]).session_id}/finish`);
    expect((await server.chat('Hello.', START)).status).toBe(200);
    await untilEmpty(server);
  });

  test(`of whom ${CLIENTS} go away at any moment take no place from those who stay`, async (context) => {
    const server = await serveHosted(context, { sessionsPerProcess: 2 });
    const random = seededRandom(SEED);
    const body = { messages: [{ role: 'user', content: 'Hello.' }], ...START };
    const fickle = Array.from({ length: CLIENTS }, async () => {
      const client = openChat(server.url, body);
      await Promise.race([client.ended, sleep(random() * 2_000)]);
      client.leave();
    });
    const patient = Promise.all(Array.from({ length: PATIENT }, () => server.chat('Hello.', START)));
    let isOver = false;
    const finishing = (async () => {
      // Whoever was served and went away has a session that waits for the next turn.
      while (!isOver) {
        for (const id of await server.active()) await server.post(`/v1/sessions/${id}/finish`);
        await sleep(20);
      }
    })();
    try {
      await Promise.all(fickle);
      expect((await patient).map(({ status }) => status)).toEqual(Array(PATIENT).fill(200));
    } finally {
      isOver = true;
      await finishing;
    }
    await untilEmpty(server);
    const later = await Promise.all([server.chat('Hello.', START), server.chat('Hello.', START)]);
    expect(later.map(({ status }) => status)).toEqual([200, 200]);
  });

  test(`whose initialize hook hangs for every tenth of ${SESSIONS} keep none of the others waiting`, async (context) => {
    const env = { HANGS_EVERY: String(HANGS_EVERY) };
    const server = await serveHosted(context, { sessionsPerProcess: SESSIONS, env });
    const replies: Reply[] = [];
    const chats = Array.from({ length: SESSIONS }, async () => {
      const reply = await server.chat('Hello.', START);
      replies.push(reply);
      return reply;
    });
    const hanging = SESSIONS / HANGS_EVERY;
    // Before the limit of those that hang.
    await until(() => expect(replies).toHaveLength(SESSIONS - hanging), { withinMs: 50_000 });
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    const failed = (await Promise.all(chats)).filter(({ status }) => status !== 200);
    expect(failed.map(errorOf)).toEqual(Array(hanging).fill([502, 'environment_failed', null]));
    for (const { text } of failed)
      expect(text).toMatch(/did not finish connecting.*Its initialize hook takes too long/);
    await until(async () => expect(await server.gauge('proctor_host_sessions')).toBe(SESSIONS - hanging), WITHIN);
    expect(await server.active()).toHaveLength(SESSIONS - hanging);
  });
});
