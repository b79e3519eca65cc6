import { once } from 'node:events';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { Lease } from '../../src/queue/run-queue.ts';
import { startHeartbeat } from '../../src/run-service/heartbeat.ts';
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
  const lease = await parts.queue.lease('me');
  if (lease === undefined) throw new Error('There is no entry');
  return { ...parts, lease };
}

function beat({ lease, ...parts }: Parts & { readonly lease: Lease }) {
  const interrupt = new AbortController();
  const heartbeat = startHeartbeat(lease, interrupt, { ...parts, logger: pino({ level: 'silent' }) });
  onTestFinished(() => heartbeat.stop());
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
