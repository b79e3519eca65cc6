import { EventEmitter, once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { type CancelWatch, createCancelWatch } from '../../../src/service/runs/worker/cancel-watch.ts';
import { startHeartbeat } from '../../../src/service/runs/worker/heartbeat.ts';
import { executeLease } from '../../../src/service/runs/worker/leased-run.ts';
import type { Lease, RunQueue } from '../../../src/store/queue/run-queue.ts';
import { createLeaseKeeper } from '../../../src/store/queue/threaded-lease-keeper.ts';
import { openParts, type Parts } from './service.ts';

const TRACE_ID = 'b'.repeat(32);

async function holdRun(): Promise<Parts & { readonly lease: Lease }> {
  const parts = await openParts();
  const queued = {
    origin: 'run' as const,
    env_name: 'counter',
    scenario_name: 'count_to',
    scenario_args: { target: 1 },
    model: 'proctor/noop',
    max_steps: 1,
    timeout_seconds: 1,
    seed: null,
    sampling: {},
    metadata: {},
    priority: 0,
  };
  await parts.store.create({ traceId: TRACE_ID, account: 'local', queued }, (transaction) =>
    parts.queue.enqueue({ traceId: TRACE_ID, priority: 0 }, transaction),
  );
  const lease = (await parts.queue.lease('me'))[0];
  if (lease === undefined) throw new Error('There is no entry');
  return { ...parts, lease };
}

function watchCancels(store: Parts['store']): CancelWatch {
  const cancels = createCancelWatch(store, () => {});
  onTestFinished(() => cancels.close());
  return cancels;
}

function beat({ lease, ...parts }: Parts & { readonly lease: Lease }) {
  const interrupt = new AbortController();
  const leases = createLeaseKeeper(parts.queue);
  const cancels = watchCancels(parts.store);
  const heartbeat = startHeartbeat(lease, interrupt, { ...parts, leases, cancels, logger: pino({ level: 'silent' }) });
  onTestFinished(() => heartbeat.stop());
  onTestFinished(() => leases.close());
  return { heartbeat, interrupted: once(interrupt.signal, 'abort').then(() => interrupt.signal.reason) };
}

test('a lease is renewed while its holder lives', async () => {
  const held = await holdRun();
  const until = async () =>
    (await held.database.kysely.selectFrom('queue').select('lease_until').executeTakeFirstOrThrow()).lease_until ?? 0;
  const before = await until();
  beat(held);
  await expect.poll(until, { timeout: 10_000 }).toBeGreaterThan(before);
});

test('the holder of a lease that another has taken is told to stop, as released, and to write nothing', async () => {
  const held = await holdRun();
  const { heartbeat, interrupted } = beat(held);
  await held.database.kysely.updateTable('queue').set({ lease_token: 'other' }).execute();
  expect(await interrupted).toMatchObject({ name: 'RunInterrupted', kind: 'released' });
  expect(heartbeat.isLost).toBe(true);
});

test('the holder of a run that was asked to be cancelled is told so', async () => {
  const held = await holdRun();
  const { heartbeat, interrupted } = beat(held);
  await held.store.requestCancel(TRACE_ID);
  expect(await interrupted).toMatchObject({ name: 'RunInterrupted', kind: 'cancelled' });
  expect(heartbeat.isLost).toBe(false);
});

test('a renewal that is under way while its entry is completed is no loss of the lease', async () => {
  const held = await holdRun();
  const steps = new EventEmitter();
  const [asked, completed] = [once(steps, 'asked'), once(steps, 'completed')];
  const logged: unknown[] = [];
  const logger = pino({ level: 'trace' }, { write: (line) => void logged.push(line) });
  const interrupt = new AbortController();
  const lost: (readonly Lease[])[] = [];
  const queue: RunQueue = {
    ...held.queue,
    leaseAddress: undefined, // Renewed here, where the test can hold it up.
    async renew(leases) {
      steps.emit('asked');
      await completed;
      lost.push(await held.queue.renew(leases));
      return lost.flat();
    },
    complete: (lease) => held.queue.complete(lease).then(() => void steps.emit('completed')),
  };
  const leases = createLeaseKeeper(queue);
  onTestFinished(() => leases.close());
  const ended = executeLease(held.lease, interrupt, {
    environments: new Map(),
    models: createModels({}),
    worker: 'me',
    logger,
    store: new Proxy(held.store, {
      // Its row is read once the renewal is under way, and says that there is nothing to do any more.
      get: (store, name: keyof typeof held.store) => (name === 'row' ? () => asked.then(() => undefined) : store[name]),
    }),
    queue,
    leases,
    cancels: watchCancels(held.store),
  });
  await ended;
  await expect.poll(() => lost).toEqual([[held.lease]]);
  await nextTurn();
  expect(logged).toEqual([]);
  expect(interrupt.signal.aborted).toBe(false);
});
