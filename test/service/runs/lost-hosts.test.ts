import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { BoundaryError } from '../../../src/contract/errors.ts';
import type { EnvironmentClient } from '../../../src/environment/client/environment-client.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { RunInterrupted } from '../../../src/rollout/session/run.ts';
import { createCancelWatch } from '../../../src/service/runs/worker/cancel-watch.ts';
import { executeLease, type LeasedRunOptions } from '../../../src/service/runs/worker/leased-run.ts';
import { createLeaseKeeper } from '../../../src/store/queue/threaded-lease-keeper.ts';
import { type CounterParts, counterClient, gate } from '../../rollout/session/fixtures.ts';
import { newTrace } from '../../store/traces/events.ts';
import { COUNTER, openParts, type Parts } from './service.ts';

const GONE = 'The environment "counter" was killed by SIGKILL';
const error = { boundary: 'environment', code: 'environment_failed', message: GONE };

type Pool = NonNullable<LeasedRunOptions['pool']>;

/** Two places in a host, whose process dies as soon as both are taken. A session that is to be alone is never lost. */
function createPool({ places = 2, isAlwaysShared = false, onLoss = async () => {} } = {}) {
  const askedAlone: boolean[] = [];
  const full = gate();
  let isLost = false;
  const pool: Pool = {
    async connect(_target, { isAlone = false }) {
      askedAlone.push(isAlone);
      if (isAlone && !isAlwaysShared) return counterClient({ onEvaluate: () => ({ reward: 1 }) });
      return inHost({
        onSetup: async () => {
          if (askedAlone.length >= places) full.open();
          await full.passed;
          isLost = true;
          await onLoss();
          throw new BoundaryError('setup', 'environment_failed', GONE);
        },
      });
    },
  };
  function inHost(parts: CounterParts): EnvironmentClient {
    const client = Object.assign(Object.create(counterClient(parts)), { isShared: true });
    return Object.defineProperty(client, 'isLost', { get: () => isLost });
  }
  return { pool, askedAlone };
}

async function createRuns(count: number): Promise<Parts & { readonly traceIds: readonly string[] }> {
  const parts = await openParts();
  const traceIds: string[] = [];
  for (let run = 0; run < count; run += 1) {
    const trace = newTrace({ model: 'proctor/noop', timeout_seconds: 60 });
    const { traceId } = trace;
    traceIds.push(traceId);
    await parts.store.create(trace, (transaction) => parts.queue.enqueue({ traceId, priority: 0 }, transaction));
  }
  return { ...parts, traceIds };
}

/** Executes the next entry of the queue, as a worker would. */
async function work({ store, queue }: Parts, pool: Pool, worker: string, interrupt = new AbortController()) {
  const [lease] = await queue.lease(worker);
  if (lease === undefined) throw new Error('There is no entry');
  const leases = createLeaseKeeper(queue);
  const cancels = createCancelWatch(store, () => {});
  onTestFinished(() => cancels.close());
  onTestFinished(() => leases.close());
  await executeLease(lease, interrupt, {
    environments: new Map([['counter', COUNTER]]),
    models: createModels({}),
    logger: pino({ level: 'silent' }),
    ...{ store, queue, leases, cancels, worker, pool },
  });
}

/** Another worker takes a run and dies with it. */
async function loseWorker({ queue, database }: Parts): Promise<void> {
  await queue.lease('a worker that dies');
  await database.kysely.updateTable('queue').set({ lease_until: 1 }).execute();
}

async function eventsOf({ store }: Parts, traceId: string) {
  const events = await store.events(traceId);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  return events;
}

test('each run of a host that dies loses one attempt, and is alone in the next one, whoever takes it', async () => {
  const parts = await createRuns(2);
  const { pool, askedAlone } = createPool();
  await Promise.all([work(parts, pool, 'one'), work(parts, pool, 'one')]);
  expect(await parts.queue.counts()).toEqual({ waiting: 2, leased: 0 });
  for (const traceId of parts.traceIds) {
    expect(await parts.store.trace(traceId)).toMatchObject({
      status: 'queued',
      error: null,
      attempts: [{ error }, {}],
    });
  }
  expect(askedAlone).toEqual([false, false]);
  await Promise.all([work(parts, pool, 'two'), work(parts, pool, 'two')]);
  expect(askedAlone).toEqual([false, false, true, true]);
  for (const traceId of parts.traceIds) {
    expect(await parts.store.trace(traceId)).toMatchObject({
      status: 'completed',
      reward: 1,
      attempt: 2,
      error: null,
      attempts: [
        { attempt: 1, end: 'lost', error },
        { attempt: 2, end: 'completed', error: null },
      ],
    });
    const events = await eventsOf(parts, traceId);
    expect(events.filter(({ type }) => type === 'run.finished')).toHaveLength(1);
    expect(events.filter(({ type }) => type === 'run.queued')).toMatchObject([
      { previous_end: null },
      { previous_end: 'lost', previous_error: error },
    ]);
  }
  expect(await parts.queue.counts()).toEqual({ waiting: 0, leased: 0 });
});

test('a run that lost its environment three times is failed with how it was lost', async () => {
  const parts = await createRuns(1);
  const [traceId = ''] = parts.traceIds;
  const { pool, askedAlone } = createPool({ places: 1, isAlwaysShared: true });
  for (const worker of ['one', 'two', 'three']) await work(parts, pool, worker);
  expect(await parts.store.trace(traceId)).toMatchObject({
    status: 'failed',
    stop_reason: 'error',
    reward: null,
    attempt: 3,
    error,
    attempts: [
      { end: 'lost', error },
      { end: 'lost', error },
      { end: 'failed', error },
    ],
  });
  expect(askedAlone).toEqual([false, true, true]);
  expect((await eventsOf(parts, traceId)).filter(({ type }) => type === 'run.finished')).toHaveLength(1);
  expect(await parts.queue.counts()).toEqual({ waiting: 0, leased: 0 });
});

test('a run that was to be cancelled as its host died is cancelled, and not started again', async () => {
  const parts = await createRuns(1);
  const [traceId = ''] = parts.traceIds;
  const onLoss = async () => void (await parts.store.requestCancel(traceId));
  const { pool, askedAlone } = createPool({ places: 1, onLoss });
  await work(parts, pool, 'one');
  await work(parts, pool, 'two');
  expect(await parts.store.trace(traceId)).toMatchObject({
    status: 'cancelled',
    attempts: [
      { end: 'lost', error },
      { end: 'cancelled', started_at: null, error: null },
    ],
  });
  expect(askedAlone).toEqual([false]);
});

test('a run that was alone and was given back is alone again', async () => {
  const parts = await createRuns(1);
  const [traceId = ''] = parts.traceIds;
  const { pool, askedAlone } = createPool({ places: 1 });
  await work(parts, pool, 'one');
  const interrupt = new AbortController();
  const stopping: Pool = {
    connect: (...asked) => {
      interrupt.abort(new RunInterrupted('released'));
      return pool.connect(...asked);
    },
  };
  await work(parts, stopping, 'two', interrupt);
  await work(parts, pool, 'three');
  expect(askedAlone).toEqual([false, true, true]);
  expect(await parts.store.trace(traceId)).toMatchObject({
    status: 'completed',
    attempts: [{ end: 'lost' }, { end: 'released', error: null }, { end: 'completed' }],
  });
});

test('workers that die count together with hosts that die, and the next attempt stays alone', async () => {
  const parts = await createRuns(1);
  const [traceId = ''] = parts.traceIds;
  const { pool, askedAlone } = createPool({ places: 1 });
  await work(parts, pool, 'one');
  await loseWorker(parts);
  const interrupt = new AbortController();
  const dying: Pool = {
    connect: async (...asked) => {
      interrupt.abort(new RunInterrupted('released'));
      return await pool.connect(...asked);
    },
  };
  await work(parts, dying, 'two', interrupt);
  expect(askedAlone).toEqual([false, true]);
  await loseWorker(parts);
  await work(parts, pool, 'three');
  expect(await parts.store.trace(traceId)).toMatchObject({
    status: 'failed',
    attempt: 4,
    error: {
      boundary: 'worker',
      message: 'The last worker that took the run was lost with it; it was given up after 3 attempts.',
    },
    attempts: [{ end: 'lost', error }, { end: 'lost', error: null }, { end: 'released' }, { end: 'failed' }],
  });
});

test('a trace that an earlier version has stored does not say why its attempts ended', async () => {
  const parts = await createRuns(1);
  const [traceId = ''] = parts.traceIds;
  const { pool } = createPool({ places: 1 });
  await work(parts, pool, 'one');
  await work(parts, pool, 'two');
  const stored = await parts.store.traceSummary(traceId);
  const attempts = stored?.attempts.map(({ error: _error, ...entry }) => entry);
  const summary = JSON.stringify({ ...stored, attempts });
  await parts.database.kysely.updateTable('traces').set({ summary }).execute();
  expect((await parts.store.traceSummary(traceId))?.attempts.map((entry) => entry.error)).toEqual([null, null]);
  expect((await parts.store.list({})).data[0]?.attempts.map((entry) => entry.error)).toEqual([null, null]);
});
