import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { startWorker } from '../../../src/service/runs/worker/worker.ts';
import { isRunning, processesNamed } from '../../environment/client/processes.ts';
import { until } from '../../until.ts';
import { startService, type TestService, traceIdOf } from './service.ts';

vi.setConfig({ testTimeout: 60_000 });

const path = fileURLToPath(new URL('./fixtures/who/environment.ts', import.meta.url));
const environments = new Map<string, EnvironmentTarget>([['who', { kind: 'module', path }]]);
const infoSchema = z.object({ pid: z.int(), runs: z.int() });

async function startBoth(spares: number) {
  const service = await startService({ environments, worker: false });
  const { store, queue, database } = service;
  const logger = pino({ level: 'silent' });
  const models = createModels({});
  const worker = startWorker({ store, queue, database, environments, models, logger, concurrency: 2, spares });
  onTestFinished(() => worker.stop(10_000));
  return { service, worker };
}

async function ask(service: TestService) {
  const traceId = traceIdOf(await service.run({ env_name: 'who', scenario_name: 'ask', scenario_args: {} }));
  const trace = await service.ended(traceId);
  expect(trace).toMatchObject({ status: 'completed', reward: 1 });
  return { trace, ...infoSchema.parse(trace.evaluation?.info) };
}

test('each run has a process that no other run had, and the next one finds one that waits', async () => {
  const { service, worker } = await startBoth(1);
  const first = await ask(service);
  // The worker has started another one meanwhile, which is connected but has no session.
  await until(() => processesNamed(path).filter((pid) => pid !== first.pid).length === 1);
  const pids = new Set([first.pid]);
  for (let run = 0; run < 4; run += 1) {
    const { pid, runs } = await ask(service);
    expect(runs).toBe(1);
    pids.add(pid);
  }
  expect(pids.size).toBe(5);
  await worker.stop(10_000);
  expect(processesNamed(path)).toEqual([]);
});

test('a run that gets a process that waits has its log and its versions, as any other', async () => {
  const { service } = await startBoth(1);
  const first = await ask(service);
  await until(() => processesNamed(path).filter((pid) => pid !== first.pid).length === 1);
  const second = await ask(service);
  expect(second.trace.versions).toEqual(first.trace.versions);
  await until(() => !isRunning(second.pid));
});

test('without spares no process waits', async () => {
  const { service } = await startBoth(0);
  const { pid } = await ask(service);
  await until(() => !isRunning(pid));
  expect(processesNamed(path)).toEqual([]);
});
