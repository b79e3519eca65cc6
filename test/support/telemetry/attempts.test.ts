import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { createModels } from '../../../src/models/gateway/create-model.ts';
import { toVersions } from '../../../src/rollout/session/versions.ts';
import { startWorker } from '../../../src/service/runs/worker/worker.ts';
import {
  COUNTER,
  GATE_HERE,
  startService,
  type TestService,
  temporaryDirectory,
  traceIdOf,
  untilToolCalled,
} from '../../service/runs/service.ts';
import { startTracing } from './tracing.ts';

function work(service: TestService, environments = new Map([['counter', COUNTER]])) {
  const { store, queue } = service;
  const worker = startWorker({
    store,
    queue,
    environments,
    models: createModels({}),
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(() => worker.stop(10_000));
  return worker;
}

const attemptsOf = ({ spans }: Awaited<ReturnType<typeof startTracing>>) =>
  spans
    .filter(({ name }) => name.startsWith('invoke_agent'))
    .map(({ attributes }) => [attributes['proctor.attempt'], attributes['proctor.status']])
    .sort();

test('an attempt that was given back has its span, and so has the next one, in the same trace', async () => {
  const tracing = await startTracing();
  const environments = new Map([['gate', GATE_HERE]]);
  const service = await startService({ environments, worker: false });
  const gate = join(temporaryDirectory(), 'gate');
  const first = work(service, environments);
  const asked = { env_name: 'gate', scenario_name: 'pass', scenario_args: { file: gate } };
  const traceId = traceIdOf(await service.run(asked));
  await untilToolCalled(service, traceId);
  await first.stop(10_000);
  writeFileSync(gate, '');
  work(service, environments);
  expect(await service.ended(traceId)).toMatchObject({ status: 'completed', attempt: 2 });
  await service.close();
  await tracing.flush();
  expect(attemptsOf(tracing)).toEqual([
    [1, 'released'],
    [2, 'completed'],
  ]);
  expect(new Set(tracing.spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
  const interrupted = tracing.spans.filter(({ name }) => name.startsWith('execute_tool'))[0];
  expect(interrupted).toMatchObject({ status: { code: 2 }, attributes: { 'error.type': 'RunInterrupted' } });
});

test('the span of an attempt whose worker is gone is written by the one that takes the run over', async () => {
  const tracing = await startTracing();
  const service = await startService({ worker: false });
  const traceId = traceIdOf(await service.run());
  (await service.queue.lease('a worker that dies', { leaseMs: 1 }))[0];
  const started = { type: 'run.started', worker: 'a worker that dies', versions: toVersions(undefined, null) } as const;
  await service.store.append(traceId, 1, [started]);
  work(service);
  expect(await service.ended(traceId)).toMatchObject({ status: 'completed', attempts: [{ end: 'lost' }, {}] });
  await service.close();
  await tracing.flush();
  expect(attemptsOf(tracing)).toEqual([
    [1, 'lost'],
    [2, 'completed'],
  ]);
  const [lost] = tracing.spans.filter(({ attributes }) => attributes['proctor.status'] === 'lost');
  expect(lost).toMatchObject({
    traceId,
    parentSpanId: undefined,
    status: { code: 2 },
    attributes: { 'error.type': 'lost' },
  });
});
