import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { freePort } from '../cli/command.ts';
import { createDeployment, type Deployment, eventually, IS_SHORT } from './deployment.ts';

/** Milliseconds. What a lease, its takeover and a slow machine take together. */
const PATIENCE = { timeout: 180_000 } as const;
const HOUR_MS = 3_600_000;

const work = (env_name: string, steps: number, ms: number) => ({
  env_name,
  scenario_name: 'work',
  scenario_args: { steps, ms },
});

/** A run that does not end before `open` was called. */
function gateOf({ directory }: Deployment) {
  const file = join(directory, 'gate');
  const body = { env_name: 'gate', scenario_name: 'pass', scenario_args: { file } };
  return { body, open: () => writeFileSync(file, '') };
}

const lastEvent = async ({ store }: Deployment, traceId: string) => (await store.events(traceId)).at(-1);

const untilEvent = (deployment: Deployment, traceId: string, type: string, attempt: number) =>
  eventually(60_000, async () => expect(await lastEvent(deployment, traceId)).toMatchObject({ type, attempt }));

/** Who executes the present attempt. */
async function workerOf({ store }: Deployment, traceId: string): Promise<number> {
  const started = (await store.events(traceId)).findLast(({ type }) => type === 'run.started');
  const worker = started?.type === 'run.started' ? started.worker : '';
  return Number(/^worker_(\d+)_/.exec(worker)?.[1]);
}

describe.concurrent('a worker', PATIENCE, () => {
  test('that stands still for 15 s loses its run to another within 30 s, and writes nothing into it afterwards', async ({
    onTestFinished,
  }) => {
    const deployment = await createDeployment(onTestFinished, { CONCURRENCY: '1' });
    const { port } = await deployment.start('server');
    const [one, other] = [await deployment.start('worker'), await deployment.start('worker')];
    const gate = gateOf(deployment);
    const traceId = await deployment.run(port, gate.body);
    await untilEvent(deployment, traceId, 'tool.called', 1);
    const holder = (await workerOf(deployment, traceId)) === one.pid ? one : other;
    holder.child.kill('SIGSTOP');
    const stoppedAt = Date.now();
    await eventually(30_000, async () => expect(await deployment.store.row(traceId)).toMatchObject({ attempt: 2 }));
    await untilEvent(deployment, traceId, 'tool.called', 2);
    await sleep(Math.max(0, stoppedAt + 15_000 - Date.now()));
    holder.child.kill('SIGCONT');
    // It is none the worse for it: with the other one busy, the next run is its own.
    const next = await deployment.run(port, work('light', 1, 0));
    await untilEvent(deployment, next, 'run.finished', 1);
    expect(await workerOf(deployment, next)).toBe(holder.pid);
    gate.open();
    const ends = await deployment.settle([traceId, next], 90_000);
    expect([...ends.values()]).toEqual(['completed', 'completed']);
    expect(await deployment.store.trace(traceId)).toMatchObject({
      attempt: 2,
      reward: 1,
      attempts: [{ end: 'lost' }, { end: 'completed' }],
    });
  });

  test('that is killed by the environment it starts: after three of them the run is given up, and the others go on', async ({
    onTestFinished,
  }) => {
    const deployment = await createDeployment(onTestFinished, { CONCURRENCY: '4' });
    const { port } = await deployment.start('server');
    const supervised = async () => {
      const { child } = await deployment.start('worker');
      child.once('exit', (code) => {
        if (code !== 0) void supervised();
      });
    };
    await supervised();
    const poisoned = await deployment.run(port, { env_name: 'poison', scenario_name: 'drink' });
    const others = [
      await deployment.run(port, work('light', 2, 500)),
      await deployment.run(port, work('heavy', 2, 500)),
    ];
    await untilEvent(deployment, poisoned, 'run.finished', 3);
    expect(await deployment.store.trace(poisoned)).toMatchObject({
      status: 'failed',
      reward: null,
      error: { boundary: 'worker', code: 'internal_error', message: expect.stringContaining('after 3 attempts') },
    });
    const ends = await deployment.settle([poisoned, ...others], 90_000);
    // The others may have been on a worker that died, but hardly on all three.
    expect(others.map((id) => ends.get(id))).toEqual(['completed', 'completed']);
  });
});

describe.concurrent('a clock', PATIENCE, () => {
  test.for([
    ['put forward', HOUR_MS],
    ['put back', -HOUR_MS],
  ] as const)(
    'that is %s by an hour: no run is lost, and that of a dead worker is not held for an hour',
    async ([, offsetMs], { onTestFinished }) => {
      const deployment = await createDeployment(onTestFinished, { CONCURRENCY: '20' });
      const { port } = await deployment.start('server');
      const dying = await deployment.start('worker');
      const gate = gateOf(deployment);
      const first = await deployment.run(port, gate.body);
      await untilEvent(deployment, first, 'tool.called', 1);
      await deployment.start('worker');
      const others = [];
      for (let run = 0; run < 10; run += 1) others.push(await deployment.run(port, work('light', 5, 300)));
      await deployment.kill(dying);
      writeFileSync(join(deployment.directory, 'clock'), String(offsetMs));
      gate.open();
      const ends = await deployment.settle([first, ...others], 60_000);
      expect(new Set(ends.values())).toEqual(new Set(['completed']));
      expect(await deployment.store.trace(first)).toMatchObject({ attempt: 2, reward: 1 });
    },
  );
});

describe.concurrent('a gateway', PATIENCE, () => {
  test('that is away for a while fails what asks it meanwhile, at once or after its retries, and nothing else', async ({
    onTestFinished,
  }) => {
    const gatewayPort = await freePort();
    const deployment = await createDeployment(onTestFinished, { GATEWAY_URL: `http://127.0.0.1:${gatewayPort}/v1` });
    const { port } = await deployment.start('both');
    const asking = (count: number) =>
      Promise.all(
        Array.from({ length: count }, () => deployment.run(port, { ...work('light', 1, 0), model: 'talker' })),
      );
    const early = await asking(10);
    await sleep(IS_SHORT ? 3_000 : 60_000);
    const during = await asking(10);
    const unaffected = await deployment.run(port, work('heavy', 1, 0));
    for (const id of [...early, ...during]) await untilEvent(deployment, id, 'run.finished', 1);
    await startGateway(gatewayPort, onTestFinished);
    const late = await asking(10);
    const ends = await deployment.settle([...early, ...during, ...late, unaffected], 60_000);
    expect([...late, unaffected].map((id) => ends.get(id))).toEqual(Array(11).fill('completed'));
    expect(new Set([...early, ...during].map((id) => ends.get(id)))).toEqual(new Set(['failed']));
    expect(await deployment.store.trace(early[0] ?? '')).toMatchObject({
      stop_reason: 'error',
      error: { boundary: 'model' },
    });
  });
});

describe.concurrent('two servers on one SQLite file', PATIENCE, () => {
  test('accept and execute side by side, each run once', async ({ onTestFinished }) => {
    const deployment = await createDeployment(onTestFinished, { CONCURRENCY: '8' });
    const [one, other] = await Promise.all([deployment.start('both'), deployment.start('both')]);
    const ids = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        deployment.run((index % 2 === 0 ? one : other)?.port ?? 0, work(index % 10 === 0 ? 'heavy' : 'light', 2, 20)),
      ),
    );
    const ends = await deployment.settle(ids, 90_000);
    expect([ends.size, new Set(ends.values())]).toEqual([60, new Set(['completed'])]);
    const traces = await Promise.all(ids.map((id) => deployment.store.trace(id)));
    expect(new Set(traces.map((trace) => trace?.attempt))).toEqual(new Set([1]));
  });
});

describe.concurrent('runs that are accepted while no worker is up', { timeout: 600_000 }, () => {
  test('are all executed, once, when one is', async ({ onTestFinished }) => {
    const deployment = await createDeployment(onTestFinished);
    const { port } = await deployment.start('server');
    const ids: string[] = [];
    while (ids.length < (IS_SHORT ? 300 : 9_900)) {
      const batch = Array.from({ length: 50 }, () => deployment.run(port, work('light', 1, 0)));
      ids.push(...(await Promise.all(batch)));
    }
    await deployment.start('worker');
    const ends = await deployment.settle(ids, 500_000);
    expect([ends.size, new Set(ends.values())]).toEqual([ids.length, new Set(['completed'])]);
  });
});

/** Answers every request with a word, until the test ends. */
async function startGateway(port: number, onEnd: (end: () => void) => void): Promise<void> {
  const message = { role: 'assistant', content: 'done' };
  const body = { id: 'c', object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }] };
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
}
