import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readLimitHistory } from '../../../src/evaluation/evaluations/limits/limit-history.ts';
import type { Database } from '../../../src/store/database/database.ts';
import { startBusyGateway } from '../../busy-gateway.ts';
import { until } from '../../until.ts';
import { startTestWorker, type TestWorker } from './attempts.ts';
import { addEvaluation, CONNECT } from './rows.ts';

const TEST_MS = 60_000;

async function historyOf(database: Database, model = 'm-1') {
  const models = [{ model, target: model, gateway: null }];
  const changes = await readLimitHistory(database, { models, since: 0, until: Date.now() + 1_000 });
  return changes.map(({ reason, limit }) => ({ reason, limit }));
}

/** Attempts that make calls until they are told to stop. */
function keepAsking(worker: TestWorker, evaluationId: string, attempts: number) {
  let isOver = false;
  const one = async () => {
    while (!isOver) await worker.attempt(evaluationId, 5);
  };
  const all = Promise.all(Array.from({ length: attempts }, one));
  return {
    stop: async () => {
      isOver = true;
      await all;
    },
  };
}

/** Takes the place of a gateway that is away: cuts each connection, and counts them. */
async function cutConnections(url: string) {
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    socket.destroy();
  });
  server.listen(Number(new URL(url).port), '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    server.close();
    await once(server, 'close');
  };
  onTestFinished(() => void server.close());
  return {
    get count() {
      return count;
    },
    close,
  };
}

describe.each(Object.entries(CONNECT))('the limits of gateways on %s', { timeout: TEST_MS }, (_, connect) => {
  it('hold the calls of all workers together below what a gateway refuses', async () => {
    const databases = await connect(2);
    const gateway = await startBusyGateway({ capacity: 40, callMs: 200 });
    const evaluationId = await addEvaluation(databases[0], { concurrency: 100 });
    const running = databases.map((database) => {
      return keepAsking(startTestWorker(database, { baseUrl: gateway.url }), evaluationId, 50);
    });
    await until(async () => (await historyOf(databases[0])).some(({ reason }) => reason === 'refused'));
    // The calls that were refused come back, and the workers hear of each other.
    await until(async () => ((await historyOf(databases[0])).at(-1)?.limit ?? 100) <= 40);
    const before = gateway.answered;
    await until(() => gateway.answered - before >= 100);
    gateway.reset();
    await until(() => gateway.answered >= 300);
    expect(gateway.refused / (gateway.answered + gateway.refused)).toBeLessThan(0.03);
    for (const each of running) await each.stop();
    const [first, ...later] = await historyOf(databases[0]);
    expect(first).toEqual({ reason: 'start', limit: 16 });
    expect(later.map(({ reason }) => reason)).toContain('grown');
    expect(Math.max(...later.map(({ limit }) => limit))).toBeLessThanOrEqual(100);
  });

  it.each([1, 2, 3])('let no more than the concurrency of %d through', async (concurrency) => {
    const [database] = await connect(1);
    const gateway = await startBusyGateway({ callMs: 2 });
    const evaluationId = await addEvaluation(database, { concurrency });
    const running = keepAsking(startTestWorker(database, { baseUrl: gateway.url }), evaluationId, 6);
    await until(() => gateway.answered > 30);
    await running.stop();
    expect(gateway.peak).toBe(concurrency);
  });

  it('are those of a gateway: two evaluations share them, by the higher concurrency', async () => {
    const [database] = await connect(1);
    const gateway = await startBusyGateway({ callMs: 5 });
    const [small, large] = [
      await addEvaluation(database, { concurrency: 2 }),
      await addEvaluation(database, { concurrency: 12 }),
    ];
    const worker = startTestWorker(database, { baseUrl: gateway.url });
    const running = [keepAsking(worker, small, 2), keepAsking(worker, large, 30)];
    await until(() => gateway.peak === 12);
    gateway.reset();
    await until(() => gateway.answered > 100);
    for (const each of running) await each.stop();
    expect(gateway.peak).toBeLessThanOrEqual(12);
  });

  it('follow a concurrency that is changed meanwhile', async () => {
    const [database] = await connect(1);
    const gateway = await startBusyGateway({ callMs: 5 });
    const evaluationId = await addEvaluation(database, { concurrency: 2 });
    const running = keepAsking(startTestWorker(database, { baseUrl: gateway.url }), evaluationId, 12);
    await until(() => gateway.answered > 20);
    expect(gateway.peak).toBe(2);
    await database.kysely.updateTable('evaluations').set({ concurrency: 12 }).execute();
    await until(() => gateway.peak === 12);
    await running.stop();
  });
});

describe('a gateway that is away', { timeout: TEST_MS }, () => {
  it('costs no attempt, no try and no time of its tasks, and all workers wait', async () => {
    const databases = await CONNECT.SQLite(2);
    const [database] = databases;
    const gateway = await startBusyGateway({ callMs: 20 });
    const evaluationId = await addEvaluation(database, { concurrency: 20 });
    let waits = 0;
    const onWait = () => {
      waits += 1;
      return () => {
        waits -= 1;
      };
    };
    const attempts = databases.flatMap((each) => {
      const worker = startTestWorker(each, { baseUrl: gateway.url });
      return Array.from({ length: 10 }, () => worker.attempt(evaluationId, 30, { onWait }));
    });
    const all = Promise.all(attempts);
    await until(() => gateway.answered > 50);
    await gateway.goAway();
    await until(async () => (await historyOf(database)).some(({ reason }) => reason === 'held') && waits === 20);
    // The three tries of each call are over by then, and several probes.
    const knocks = await cutConnections(gateway.url);
    await until(() => knocks.count >= 10);
    // One of them is the probe.
    expect(waits).toBeGreaterThanOrEqual(19);
    await knocks.close();
    const before = gateway.answered;
    await gateway.comeBack();
    const responses = (await all).flat();
    expect(responses).toHaveLength(600);
    expect(responses.every(({ message }) => message.content === 'Hello')).toBe(true);
    expect(gateway.answered - before).toBeGreaterThan(0);
    const reasons = (await historyOf(database)).map(({ reason }) => reason);
    expect(reasons.filter((reason) => reason === 'held' || reason === 'released')).toEqual(['held', 'released']);
  });

  it('is asked by one call at a time, and given up after the last probe', async () => {
    const [database] = await CONNECT.SQLite(1);
    const gateway = await startBusyGateway();
    gateway.failWith(503);
    const evaluationId = await addEvaluation(database, { concurrency: 8 });
    const timing = { syncMs: 10, hold: { probeEveryMs: 50, probes: 5 } };
    const worker = startTestWorker(database, { baseUrl: gateway.url }, timing);
    const attempts = Array.from({ length: 8 }, () => {
      return expect(worker.attempt(evaluationId, 1)).rejects.toMatchObject({
        boundary: 'model',
        code: 'model_failed',
        message: expect.stringMatching(/The gateway was away for .* asked 5 times|the gateway answered 503/),
      });
    });
    await Promise.all(attempts);
    // Eight first tries, and the probes; those of them that are on their way at the end fail as any other call.
    expect(gateway.bodies.length).toBeLessThanOrEqual(8 + 5 * 3);
    // It is asked again by those that come later.
    gateway.failWith(undefined);
    expect(await worker.attempt(evaluationId, 1)).toHaveLength(1);
  });

  it('lets go of calls that wait when they are aborted', async () => {
    const [database] = await CONNECT.SQLite(1);
    const gateway = await startBusyGateway();
    gateway.failWith(502);
    const evaluationId = await addEvaluation(database, { concurrency: 4 });
    const worker = startTestWorker(database, { baseUrl: gateway.url });
    const controller = new AbortController();
    const attempts = Array.from({ length: 4 }, () => {
      const attempt = worker.attempt(evaluationId, 1, { signal: controller.signal });
      return expect(attempt).rejects.toThrow('cancelled');
    });
    await until(async () => (await historyOf(database)).some(({ reason }) => reason === 'held'));
    controller.abort(new Error('cancelled'));
    await Promise.all(attempts);
  });
});

describe('a call that its gateway refuses', { timeout: TEST_MS }, () => {
  it('is not a failed one: it comes when there is room', async () => {
    const [database] = await CONNECT.SQLite(1);
    const gateway = await startBusyGateway();
    gateway.failWith(429);
    const evaluationId = await addEvaluation(database, { concurrency: 4 });
    const waited: number[] = [];
    const timing = {
      syncMs: 10,
      timing: {
        now: Date.now,
        random: Math.random,
        sleep: async (ms: number) => {
          waited.push(ms);
          if (waited.length === 8) gateway.failWith(undefined);
        },
      },
    };
    const worker = startTestWorker(database, { baseUrl: gateway.url }, timing);
    const [response] = await worker.attempt(evaluationId, 1);
    expect(response?.retries).toBe(8);
    expect((await historyOf(database)).at(-1)).toEqual({ reason: 'refused', limit: 4 });
  });

  it('waits as the gateway asks, 10 minutes where that is an hour', async () => {
    const [database] = await CONNECT.SQLite(1);
    const gateway = await startBusyGateway({ retryAfter: 3_600 });
    gateway.failWith(429);
    const evaluationId = await addEvaluation(database, { concurrency: 4 });
    const waited: number[] = [];
    const sleepFor = async (ms: number) => {
      waited.push(ms);
      gateway.failWith(undefined);
    };
    const timing = { syncMs: 10, timing: { now: Date.now, random: Math.random, sleep: sleepFor } };
    await startTestWorker(database, { baseUrl: gateway.url }, timing).attempt(evaluationId, 1);
    expect(waited).toEqual([600_000]);
  });

  it.each([401, 403, 404])('for good with %d fails at once, and its status is told', async (status) => {
    const [database] = await CONNECT.SQLite(1);
    const gateway = await startBusyGateway();
    gateway.failWith(status);
    const evaluationId = await addEvaluation(database);
    const worker = startTestWorker(database, { baseUrl: gateway.url });
    await expect(worker.attempt(evaluationId, 1)).rejects.toMatchObject({ code: 'model_failed', status });
    expect(gateway.bodies).toHaveLength(1);
  });
});
