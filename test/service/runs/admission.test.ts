import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { startWorker, type Worker, type WorkerSettings } from '../../../src/service/runs/worker/worker.ts';
import { COUNTER, GATE_HERE, startService, type TestService, temporaryDirectory, traceIdOf } from './service.ts';

vi.setConfig({ testTimeout: 60_000 });

const environments = new Map<string, EnvironmentTarget>([
  ['gate', GATE_HERE],
  ['narrow', { ...GATE_HERE, limits: { concurrency: 1 } }],
  ['counter', COUNTER],
]);

/** A service that accepts runs, and what starts workers beside it. */
async function startAccepting() {
  const service = await startService({ environments, worker: false });
  const work = (settings: WorkerSettings): Worker => {
    const { store, queue, database } = service;
    const logger = pino({ level: 'silent' });
    const worker = startWorker({ store, queue, database, environments, models: createModels({}), logger, ...settings });
    onTestFinished(() => worker.stop(10_000));
    return worker;
  };
  return { service, work, gate: join(temporaryDirectory(), 'gate') };
}

const gateRun = async (service: TestService, file: string, body: object = {}, key = service.key) => {
  const asked = { env_name: 'gate', scenario_name: 'pass', scenario_args: { file }, ...body };
  return traceIdOf(await service.run(asked, { authorization: `Bearer ${key}` }));
};

const statusesOf = async ({ store }: TestService, ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await store.row(id))?.status));

const untilRunning = (service: TestService, ids: readonly string[], count: number) =>
  expect
    .poll(async () => (await statusesOf(service, ids)).filter((status) => status === 'running').length, {
      timeout: 20_000,
    })
    .toBe(count);

test('an environment has no more runs at once than its target or the worker says; others do not wait for it', async () => {
  const { service, work, gate } = await startAccepting();
  work({ concurrency: 8, environmentConcurrency: new Map([['gate', 2]]) });
  const ids: string[] = [];
  for (const env_name of ['gate', 'gate', 'gate', 'narrow', 'narrow']) {
    ids.push(await gateRun(service, gate, { env_name }));
  }
  await untilRunning(service, ids, 3);
  // It was accepted last, and is finished first.
  expect(await service.ended(traceIdOf(await service.run()))).toMatchObject({ status: 'completed' });
  expect(await statusesOf(service, ids)).toEqual(['running', 'running', 'queued', 'running', 'queued']);
  writeFileSync(gate, '');
  for (const id of ids) expect(await service.ended(id)).toMatchObject({ status: 'completed', attempt: 1 });
});

test('a worker that takes some environments alone leaves the runs of others to others', async () => {
  const { service, work, gate } = await startAccepting();
  work({ onlyEnvironments: ['gate'] });
  const other = traceIdOf(await service.run());
  writeFileSync(gate, '');
  await service.ended(await gateRun(service, gate));
  expect(await statusesOf(service, [other])).toEqual(['queued']);
  work({ onlyEnvironments: ['counter'] });
  expect(await service.ended(other)).toMatchObject({ status: 'completed' });
});

test('a key has no more runs at once than it may, over all workers; those of other keys go on, in their order', async () => {
  const { service, work, gate } = await startAccepting();
  const { key } = await service.accounts.createKey({ name: 'narrow', concurrentRuns: 2 });
  const ids: string[] = [];
  for (let run = 0; run < 6; run += 1) ids.push(await gateRun(service, gate, { priority: 9 }, key));
  work({ concurrency: 3 });
  work({ concurrency: 3 });
  await untilRunning(service, ids, 2);
  // Of lower priority and accepted later, by a key that has no limit.
  expect(await service.ended(traceIdOf(await service.run()))).toMatchObject({ status: 'completed' });
  expect((await statusesOf(service, ids)).filter((status) => status === 'running')).toHaveLength(2);
  writeFileSync(gate, '');
  for (const id of ids) expect(await service.ended(id)).toMatchObject({ status: 'completed', attempt: 1 });
  const claims = () => service.database.kysely.selectFrom('run_claims').selectAll().execute();
  await expect.poll(claims).toEqual([]);
});

test('the place of a run whose worker died is its next attempt’s, also where its key has but one', async () => {
  const { service, work, gate } = await startAccepting();
  const { key } = await service.accounts.createKey({ name: 'single', concurrentRuns: 1 });
  const [first, second] = [await gateRun(service, gate, {}, key), await gateRun(service, gate, {}, key)];
  // A worker that took it, and was killed.
  const row = await service.store.row(first);
  (await service.queue.lease('dead'))[0];
  await service.database.kysely
    .insertInto('run_claims')
    .values({ trace_id: first, key_id: row?.keyId ?? '' })
    .execute();
  work({ concurrency: 2 });
  await service.request(`/v1/traces/${second}?wait=2`);
  expect(await statusesOf(service, [first, second])).toEqual(['queued', 'queued']);
  await service.database.kysely.updateTable('queue').set({ lease_until: 1 }).where('trace_id', '=', first).execute();
  await untilRunning(service, [first], 1);
  expect(await statusesOf(service, [second])).toEqual(['queued']);
  writeFileSync(gate, '');
  expect(await service.ended(first)).toMatchObject({ status: 'completed', attempt: 2 });
  expect(await service.ended(second)).toMatchObject({ status: 'completed', attempt: 1 });
});
