import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { startWorker, type Worker } from '../../../src/service/runs/worker/worker.ts';
import type { RunQueue } from '../../../src/store/queue/run-queue.ts';
import {
  GATE_HERE,
  startService,
  type TestService,
  temporaryDirectory,
  traceIdOf,
  untilToolCalled,
} from './service.ts';

const environments = new Map([['gate', GATE_HERE]]);

/** A service that accepts runs, and a worker beside it. */
async function startBoth(concurrency: number): Promise<{ service: TestService; worker: Worker; gate: string }> {
  const service = await startService({ environments, worker: false });
  const { store, queue } = service;
  const logger = pino({ level: 'silent' });
  const worker = startWorker({ store, queue, environments, models: createModels({}), logger, concurrency });
  onTestFinished(() => worker.stop(10_000));
  return { service, worker, gate: join(temporaryDirectory(), 'gate') };
}

const gateRun = async (service: TestService, file: string, priority = 0) => {
  const asked = { env_name: 'gate', scenario_name: 'pass', scenario_args: { file }, priority };
  return traceIdOf(await service.run(asked));
};

test('a worker ends a run that it executes at once when it is told so, and no other', async () => {
  const { service, worker, gate } = await startBoth(2);
  const [first, second] = [await gateRun(service, gate), await gateRun(service, gate)];
  await untilToolCalled(service, first);
  await untilToolCalled(service, second);
  worker.cancel(first);
  expect(await service.ended(first)).toMatchObject({ status: 'cancelled', stop_reason: 'cancelled' });
  writeFileSync(gate, '');
  expect(await service.ended(second)).toMatchObject({ status: 'completed', reward: 1 });
});

test('no more runs than the concurrency are executed at once; of those that wait the highest priority is first', async () => {
  const { service, gate } = await startBoth(1);
  const running = await gateRun(service, gate);
  await untilToolCalled(service, running);
  const low = await gateRun(service, gate, 1);
  const high = await gateRun(service, gate, 9);
  expect(await service.queue.counts()).toEqual({ waiting: 2, leased: 1 });
  expect(await service.store.trace(high)).toMatchObject({ status: 'queued' });
  writeFileSync(gate, '');
  const [afterHigh, afterLow] = [await service.ended(high), await service.ended(low)];
  expect((afterHigh.started_at ?? '') < (afterLow.started_at ?? '')).toBe(true);
  expect(await service.ended(running)).toMatchObject({ status: 'completed', reward: 1 });
});

test('a worker leases the runs that it has room for at one time, and never more than it may execute', async () => {
  const service = await startService({ environments, worker: false });
  const gate = join(temporaryDirectory(), 'gate');
  const traceIds: string[] = [];
  for (let run = 0; run < 7; run += 1) traceIds.push(await gateRun(service, gate));
  const leased: number[] = [];
  const lease: RunQueue['lease'] = async (...asked) => {
    const leases = await service.queue.lease(...asked);
    if (leases.length > 0) leased.push(leases.length);
    return leases;
  };
  const { store, queue } = service;
  const options = { store, queue: { ...queue, lease }, environments, models: createModels({}), concurrency: 4 };
  const worker = startWorker({ ...options, logger: pino({ level: 'silent' }) });
  onTestFinished(() => worker.stop(10_000));
  for (const traceId of traceIds.slice(0, 4)) await untilToolCalled(service, traceId);
  expect(leased).toEqual([4]);
  writeFileSync(gate, '');
  for (const traceId of traceIds)
    expect(await service.ended(traceId)).toMatchObject({ status: 'completed', attempt: 1 });
});

test('a worker that is stopped takes nothing more and leaves nothing leased', async () => {
  const { service, worker, gate } = await startBoth(1);
  const running = await gateRun(service, gate);
  await untilToolCalled(service, running);
  const waiting = await gateRun(service, gate);
  await worker.stop(10_000);
  expect(await service.queue.counts()).toEqual({ waiting: 2, leased: 0 });
  expect(await service.store.trace(running)).toMatchObject({ status: 'queued', attempt: 2 });
  expect(await service.store.trace(waiting)).toMatchObject({ status: 'queued', attempt: 1 });
});
