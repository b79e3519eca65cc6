import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { until } from '../until.ts';
import { createDeployment } from './deployment.ts';
import { IS_FULL, SIDE_BY_SIDE } from './form.ts';
import { gateOf, untilEvent, work, workerOf } from './progress.ts';

const SETTLED_WITHIN_MS = 120_000;
const HOUR_MS = 3_600_000;
/** As many as a key may have in the queue. */
const BACKLOG = IS_FULL ? 10_000 : 300;
const BACKLOG_WITHIN_MS = 1_800_000;
const SHARED_FILE_RUNS = IS_FULL ? 600 : 60;

const completed = (attempts: number) => ({ status: 'completed', attempts, error: null });

describe('a worker', SIDE_BY_SIDE, () => {
  test('that stands still for 15 s loses its run to another within 30 s, and writes nothing into it afterwards', async (context) => {
    const deployment = await createDeployment(context, { fault: 'worker stalled', variables: { CONCURRENCY: '1' } });
    const [one, other] = await Promise.all([deployment.start('both'), deployment.start('both')]);
    const gate = gateOf(deployment, 'gate');
    const traceId = await deployment.run(one.port, gate.body);
    await untilEvent(deployment, traceId, 'tool.called', 1);
    const holder = (await workerOf(deployment, traceId)) === one.pid ? one : other;
    holder.child.kill('SIGSTOP');
    const stoppedAt = performance.now();
    await until(async () => expect(await deployment.store.row(traceId)).toMatchObject({ attempt: 2 }), {
      withinMs: 30_000,
    });
    await untilEvent(deployment, traceId, 'tool.called', 2);
    await sleep(Math.max(0, stoppedAt + 15_000 - performance.now()));
    holder.child.kill('SIGCONT');
    // It is none the worse for it: with the other one busy, the next run is its own.
    const next = await deployment.run(one.port, work('light', 1, 0));
    await untilEvent(deployment, next, 'run.finished', 1);
    expect(await workerOf(deployment, next)).toBe(holder.pid);
    gate.open();
    const ends = await deployment.settle([traceId, next], SETTLED_WITHIN_MS);
    expect([ends.get(traceId), ends.get(next)]).toEqual([completed(2), completed(1)]);
    expect(await deployment.store.trace(traceId)).toMatchObject({ reward: 1, attempts: [{ end: 'lost' }, {}] });
  });

  test('that is killed by the environment it starts: after three of them the run is given up, and the others go on', async (context) => {
    const deployment = await createDeployment(context, { fault: 'poison environment' });
    const { port } = await deployment.start('server');
    // The first has others beside the poison, which die with it once. Those that a supervisor starts after it take one at a
    // time, and the poison last.
    const supervised = async (concurrency: string) => {
      const { child } = await deployment.start('worker', { variables: { CONCURRENCY: concurrency } });
      child.once('exit', (code) => {
        if (code !== 0) void supervised('1');
      });
    };
    await supervised('4');
    const gate = gateOf(deployment, 'gate_here');
    const beside = await deployment.run(port, { ...gate.body, priority: 5 });
    await untilEvent(deployment, beside, 'tool.called', 1);
    const poisoned = await deployment.run(port, { env_name: 'poison', scenario_name: 'drink', priority: 0 });
    gate.open();
    const later = [
      await deployment.run(port, { ...work('light', 2, 500), priority: 5 }),
      await deployment.run(port, { ...work('heavy', 2, 500), priority: 5 }),
    ];
    await untilEvent(deployment, poisoned, 'run.finished', 3);
    expect(await deployment.store.trace(poisoned)).toMatchObject({
      status: 'failed',
      reward: null,
      error: { boundary: 'worker', code: 'internal_error', message: expect.stringContaining('after 3 attempts') },
    });
    const ends = await deployment.settle([poisoned, beside, ...later], SETTLED_WITHIN_MS);
    expect([beside, ...later].map((id) => ends.get(id)?.status)).toEqual(['completed', 'completed', 'completed']);
  });
});

describe('a clock', SIDE_BY_SIDE, () => {
  test.for([
    ['put forward', HOUR_MS],
    ['put back', -HOUR_MS],
  ] as const)(
    'that is %s by an hour: no run is lost, and that of a dead worker is not held for an hour',
    async ([change, offsetMs], context) => {
      const fault = `clock ${change} by an hour`;
      const deployment = await createDeployment(context, { fault, variables: { CONCURRENCY: '20' } });
      const dying = await deployment.start('both');
      const gate = gateOf(deployment, 'gate_here');
      const first = await deployment.run(dying.port, gate.body);
      await untilEvent(deployment, first, 'tool.called', 1);
      await deployment.start('worker');
      const others: string[] = [];
      for (let run = 0; run < 10; run += 1) others.push(await deployment.run(dying.port, work('light', 5, 300)));
      await deployment.kill(dying);
      writeFileSync(join(deployment.directory, 'clock'), String(offsetMs));
      gate.open();
      const ends = await deployment.settle([first, ...others], SETTLED_WITHIN_MS);
      expect(new Set([...ends.values()].map(({ status }) => status))).toEqual(new Set(['completed']));
      expect(await deployment.store.trace(first)).toMatchObject({ attempt: 2, reward: 1 });
    },
  );
});

describe('two servers on one SQLite file', SIDE_BY_SIDE, () => {
  test('accept and execute side by side, each run once', async (context) => {
    const fault = 'two servers on one SQLite file';
    const deployment = await createDeployment(context, { fault, variables: { CONCURRENCY: '8' } });
    const servers = await Promise.all([deployment.start('both'), deployment.start('both')]);
    const ids: string[] = [];
    const sendEvery = async (port: number) => {
      for (let sent = 0; sent < SHARED_FILE_RUNS / 12; sent += 1) {
        ids.push(await deployment.run(port, work(sent % 10 === 0 ? 'heavy' : 'light', 2, 20)));
      }
    };
    await Promise.all(servers.flatMap(({ port }) => Array.from({ length: 6 }, () => sendEvery(port))));
    const ends = await deployment.settle(ids, SETTLED_WITHIN_MS);
    expect([...ends.values()]).toEqual(Array(SHARED_FILE_RUNS).fill(completed(1)));
  });
});

describe('runs that are accepted while no worker is up', SIDE_BY_SIDE, () => {
  test(`are all executed, once, when one is (${BACKLOG})`, async (context) => {
    const deployment = await createDeployment(context, { fault: 'no worker is up' });
    const { port } = await deployment.start('server');
    const ids: string[] = [];
    while (ids.length < BACKLOG) {
      const batch = Array.from({ length: 50 }, () => deployment.run(port, work('light', 1, 0)));
      ids.push(...(await Promise.all(batch)));
    }
    await deployment.start('worker');
    const ends = await deployment.settle(ids, BACKLOG_WITHIN_MS);
    expect([...ends.values()]).toEqual(Array(BACKLOG).fill(completed(1)));
  });
});
