import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { traceSchema } from '../../../src/contract/service/trace.ts';
import { newTrace } from '../../store/traces/events.ts';
import {
  GATE,
  openParts,
  type Parts,
  SLOW_RUN,
  startService,
  temporaryDirectory,
  traceIdOf,
  untilToolCalled,
} from './service.ts';
import { spawnService } from './service-process.ts';

// Processes start slowly on a machine that is busy.
vi.setConfig({ testTimeout: 120_000 });

/** A run that does not end before the file exists. */
const gateRun = (file: string) => ({
  env_name: 'gate',
  scenario_name: 'pass',
  scenario_args: { file },
  model: 'proctor/oracle',
});

function temporaryPlaces() {
  const directory = temporaryDirectory();
  return { databaseUrl: `sqlite:${join(directory, 'proctor.db')}`, gate: join(directory, 'gate') };
}

const TRACE_ID = 'a'.repeat(32);
const ACCEPTED = newTrace({ max_steps: 10, timeout_seconds: 60 }, { traceId: TRACE_ID });

/** A run whose worker took it and died, so that its lease has run out. */
async function abandonRun({ store, queue, database }: Parts, previousAttempts = 0): Promise<void> {
  await store.create(ACCEPTED, (transaction) => queue.enqueue({ traceId: TRACE_ID, priority: 0 }, transaction));
  for (let attempt = 1; attempt <= previousAttempts; attempt += 1) {
    await store.startNextAttempt(TRACE_ID, attempt, 'lost');
  }
  (await queue.lease('dead'))[0];
  await database.kysely.updateTable('queue').set({ lease_until: 1 }).execute();
}

test('a run whose service was killed with kill -9 completes as attempt 2 of the same trace', async () => {
  const { databaseUrl, gate } = temporaryPlaces();
  const first = await spawnService(databaseUrl);
  const traceId = traceIdOf(await first.request('/v1/agent/run', gateRun(gate)));
  const parts = await openParts(databaseUrl);
  await untilToolCalled(parts, traceId);
  const dead = once(first.child, 'exit');
  first.child.kill('SIGKILL');
  await dead;
  const before = await parts.store.events(traceId);
  writeFileSync(gate, '');
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
  const { databaseUrl, gate } = temporaryPlaces();
  const first = await spawnService(databaseUrl);
  const traceId = traceIdOf(await first.request('/v1/agent/run', gateRun(gate)));
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

  writeFileSync(gate, '');
  await startService({ parts, environments: new Map([['gate', GATE]]) });
  await expect.poll(async () => (await parts.store.row(traceId))?.status, { timeout: 60_000 }).toBe('completed');
  expect(await parts.store.trace(traceId)).toMatchObject({ attempt: 2, reward: 1 });
});

test('a service that closes lets those who wait go, with what there is', async () => {
  const service = await startService();
  const waiting = service.run(SLOW_RUN, { prefer: 'wait=240' });
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
  await parts.store.create(ACCEPTED, (transaction) =>
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
  await parts.store.create(ACCEPTED);
  const service = await startService({ parts });
  expect(await service.ended(TRACE_ID)).toMatchObject({ status: 'completed', attempt: 1, reward: 1 });
});

test('a finished run whose entry was left in the queue is not executed again', async () => {
  const parts = await openParts();
  await parts.store.create(ACCEPTED, (transaction) =>
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
  const traceId = traceIdOf(await service.run(SLOW_RUN));
  await untilToolCalled(service, traceId);
  // As if this process had been stopped for longer than its lease.
  await service.database.kysely.updateTable('queue').set({ leased_by: 'other', lease_token: 'other' }).execute();
  await service.store.startNextAttempt(traceId, 1, 'lost');
  const length = (await service.store.events(traceId)).length;
  await service.close();
  expect(await service.store.events(traceId)).toHaveLength(length);
  expect(await service.store.row(traceId)).toMatchObject({ attempt: 2, status: 'queued' });
});

/** A store that cannot write what a model has said, as often as it is told. */
function failingStore(store: Parts['store'], times: number): Parts['store'] {
  let left = times;
  const append: Parts['store']['append'] = async (traceId, attempt, bodies) => {
    if (bodies.some(({ type }) => type === 'model.responded') && left-- > 0) throw new Error('the disk is on fire');
    return await store.append(traceId, attempt, bodies);
  };
  return new Proxy(store, {
    get(target, name) {
      if (name === 'append') return append;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

test('a run that could not be recorded starts again, as one whose worker was lost', async () => {
  const parts = await openParts();
  const service = await startService({ parts: { ...parts, store: failingStore(parts.store, 1) } });
  expect(await service.ended(traceIdOf(await service.run()))).toMatchObject({
    status: 'completed',
    attempt: 2,
    reward: 1,
    attempts: [{ end: 'lost' }, { end: 'completed' }],
  });
});

test('a run that can never be recorded is failed by the boundary worker after three attempts', async () => {
  const parts = await openParts();
  const service = await startService({ parts: { ...parts, store: failingStore(parts.store, 1_000) } });
  const trace = await service.ended(traceIdOf(await service.run()));
  expect(trace).toMatchObject({
    status: 'failed',
    attempt: 3,
    error: { boundary: 'worker', code: 'internal_error', message: expect.stringContaining('last of 3 attempts') },
  });
  expect(JSON.stringify(trace)).not.toContain('on fire');
  await expect.poll(() => parts.queue.counts()).toEqual({ waiting: 0, leased: 0 });
});
