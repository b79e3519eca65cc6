import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { EventOf } from '../../src/contract/event.ts';
import { traceSchema } from '../../src/contract/trace.ts';
import { type Reply, send } from '../http/http-server.ts';
import { COUNTER_PROCESS, openParts, type Parts, startService, temporaryDatabaseUrl, traceIdOf } from './service.ts';

interface ServiceProcess {
  readonly child: ChildProcess;
  request(path: string, body?: object): Promise<Reply>;
}

/** The service as a process of its own, until the test ends. */
async function spawnService(databaseUrl: string, graceMs = 10_000): Promise<ServiceProcess> {
  const program = fileURLToPath(new URL('./fixtures/service-process.ts', import.meta.url));
  const counter = COUNTER_PROCESS.kind === 'module' ? COUNTER_PROCESS.path : '';
  const child = spawn(process.execPath, ['--import', 'tsx', program, databaseUrl, counter, String(graceMs)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  const { url, key } = z.object({ url: z.string(), key: z.string() }).parse(JSON.parse(String(line)));
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return {
    child,
    request: (path, body) =>
      send(url, path, {
        headers,
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      }),
  };
}

const slowRun = (delayMs: number) => ({
  env_name: 'counter',
  scenario_name: 'slow_count',
  scenario_args: { target: 1, delay_ms: delayMs },
  model: 'proctor/oracle',
});

async function untilToolCalled({ store }: Parts, traceId: string): Promise<void> {
  await expect.poll(async () => (await store.events(traceId)).at(-1)?.type, { timeout: 20_000 }).toBe('tool.called');
}

const QUEUED: Omit<EventOf<'run.queued'>, 'type' | 'previous_end'> = {
  origin: 'run',
  env_name: 'counter',
  scenario_name: 'count_to',
  scenario_args: { target: 2 },
  model: 'proctor/oracle',
  max_steps: 10,
  timeout_seconds: 60,
  seed: null,
  sampling: {},
  metadata: {},
  priority: 0,
};
const TRACE_ID = 'a'.repeat(32);

/** A run whose worker took it and died, so that its lease has run out. */
async function abandonRun({ store, queue, database }: Parts, previousAttempts = 0): Promise<void> {
  await store.create({ traceId: TRACE_ID, account: 'local', queued: QUEUED }, (transaction) =>
    queue.enqueue({ traceId: TRACE_ID, priority: 0 }, transaction),
  );
  for (let attempt = 1; attempt <= previousAttempts; attempt += 1) {
    await store.startNextAttempt(TRACE_ID, attempt, 'lost');
  }
  await queue.lease('dead');
  await database.kysely.updateTable('queue').set({ lease_until: 1 }).execute();
}

test('a run whose service was killed with kill -9 completes as attempt 2 of the same trace', async () => {
  const databaseUrl = temporaryDatabaseUrl();
  const first = await spawnService(databaseUrl);
  const traceId = traceIdOf(await first.request('/v1/agent/run', slowRun(3_000)));
  const parts = await openParts(databaseUrl);
  await untilToolCalled(parts, traceId);
  const dead = once(first.child, 'exit');
  first.child.kill('SIGKILL');
  await dead;
  const before = await parts.store.events(traceId);
  // What a clock would do in 10 s.
  await parts.database.kysely.updateTable('queue').set({ lease_until: 1 }).execute();

  const second = await spawnService(databaseUrl);
  const trace = traceSchema.parse((await second.request(`/v1/traces/${traceId}?wait=60`)).json);
  expect(trace).toMatchObject({
    trace_id: traceId,
    status: 'completed',
    reward: 1,
    attempt: 2,
    attempts: [
      { attempt: 1, end: 'lost' },
      { attempt: 2, end: 'completed' },
    ],
    steps: [{ step: 1 }, { step: 2 }],
  });
  const events = await parts.store.events(traceId);
  expect(events.slice(0, before.length)).toEqual(before);
  expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
});

test('SIGTERM gives a run back as a new attempt, and the process exits 0', async () => {
  const databaseUrl = temporaryDatabaseUrl();
  const first = await spawnService(databaseUrl);
  const traceId = traceIdOf(await first.request('/v1/agent/run', slowRun(2_000)));
  const parts = await openParts(databaseUrl);
  await untilToolCalled(parts, traceId);
  const exited = once(first.child, 'exit');
  first.child.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  expect(await parts.store.trace(traceId)).toMatchObject({
    status: 'queued',
    attempt: 2,
    attempts: [
      { attempt: 1, end: 'released' },
      { attempt: 2, end: null },
    ],
  });
  expect(await parts.queue.counts()).toEqual({ waiting: 1, leased: 0 });

  await startService({ parts, environments: new Map([['counter', COUNTER_PROCESS]]) });
  await expect.poll(async () => (await parts.store.row(traceId))?.status, { timeout: 20_000 }).toBe('completed');
  expect(await parts.store.trace(traceId)).toMatchObject({ attempt: 2, reward: 1 });
});

test('a service that closes lets those who wait go, with what there is', async () => {
  const service = await startService();
  const waiting = service.run(slowRun(60_000), { prefer: 'wait=240' });
  await expect.poll(() => service.countRuns()).toBe(1);
  const { data } = await service.store.list({});
  const traceId = data[0]?.trace_id ?? '';
  await untilToolCalled(service, traceId);
  await service.close();
  expect((await waiting).json).toMatchObject({ trace_id: traceId, reward: null });
  expect(await service.store.trace(traceId)).toMatchObject({ status: 'queued', attempts: [{ end: 'released' }, {}] });
});

test('a run that was given back counts no attempt towards the limit', async () => {
  const parts = await openParts();
  await parts.store.create({ traceId: TRACE_ID, account: 'local', queued: QUEUED }, (transaction) =>
    parts.queue.enqueue({ traceId: TRACE_ID, priority: 0 }, transaction),
  );
  for (const attempt of [1, 2, 3, 4]) await parts.store.startNextAttempt(TRACE_ID, attempt, 'released');
  const service = await startService({ parts });
  expect(await service.ended(TRACE_ID)).toMatchObject({ status: 'completed', attempt: 5, reward: 1 });
});

test('a lease that ran out is taken over as the next attempt', async () => {
  const parts = await openParts();
  await abandonRun(parts);
  const service = await startService({ parts });
  expect(await service.ended(TRACE_ID)).toMatchObject({
    status: 'completed',
    attempt: 2,
    attempts: [{ end: 'lost' }, { end: 'completed' }],
  });
});

test('after three lost attempts a run is failed by the boundary worker', async () => {
  const parts = await openParts();
  await abandonRun(parts, 2);
  const service = await startService({ parts });
  expect(await service.ended(TRACE_ID)).toMatchObject({
    status: 'failed',
    stop_reason: 'error',
    attempt: 3,
    reward: null,
    error: {
      boundary: 'worker',
      code: 'internal_error',
      message: 'Every worker that took the run was lost with it; it was given up after 3 attempts.',
    },
  });
  await expect.poll(() => parts.queue.counts()).toEqual({ waiting: 0, leased: 0 });
});

test('a run that was to be cancelled when its worker died is cancelled, not started again', async () => {
  const parts = await openParts();
  await abandonRun(parts);
  await parts.store.requestCancel(TRACE_ID);
  const service = await startService({ parts });
  expect(await service.ended(TRACE_ID)).toMatchObject({ status: 'cancelled', attempt: 1 });
});

test('an accepted run without an entry in the queue is enqueued at the start', async () => {
  const parts = await openParts();
  await parts.store.create({ traceId: TRACE_ID, account: 'local', queued: QUEUED });
  const service = await startService({ parts });
  expect(await service.ended(TRACE_ID)).toMatchObject({ status: 'completed', attempt: 1, reward: 1 });
});

test('a finished run whose entry was left in the queue is not executed again', async () => {
  const parts = await openParts();
  await parts.store.create({ traceId: TRACE_ID, account: 'local', queued: QUEUED }, (transaction) =>
    parts.queue.enqueue({ traceId: TRACE_ID, priority: 0 }, transaction),
  );
  await parts.store.append(TRACE_ID, 1, [
    { type: 'run.finished', status: 'completed', stop_reason: 'answered', reward: 1, error: null },
  ]);
  const service = await startService({ parts });
  await expect.poll(() => service.queue.counts()).toEqual({ waiting: 0, leased: 0 });
  expect(await service.store.events(TRACE_ID)).toHaveLength(2);
});

test('a worker whose lease was taken by another stops and writes nothing more', async () => {
  const service = await startService();
  const traceId = traceIdOf(await service.run(slowRun(60_000)));
  await untilToolCalled(service, traceId);
  // As if this process had been stopped for longer than its lease.
  await service.database.kysely.updateTable('queue').set({ leased_by: 'other', lease_token: 'other' }).execute();
  await service.store.startNextAttempt(traceId, 1, 'lost');
  const length = (await service.store.events(traceId)).length;
  await service.close();
  expect(await service.store.events(traceId)).toHaveLength(length);
  expect(await service.store.row(traceId)).toMatchObject({ attempt: 2, status: 'queued' });
});
