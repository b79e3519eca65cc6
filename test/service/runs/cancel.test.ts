import { expect, test } from 'vitest';
import { createRecorder } from '../../../src/store/traces/event-recorder.ts';
import { SLOW_RUN, startService, traceIdOf, untilToolCalled } from './service.ts';

const cancel = (service: Awaited<ReturnType<typeof startService>>, traceId: string) =>
  service.request(`/v1/traces/${traceId}/cancel`, { method: 'POST' });

test('a queued run is cancelled at once and never executed', async () => {
  const service = await startService({ worker: false });
  const traceId = traceIdOf(await service.run());
  const reply = await cancel(service, traceId);
  expect({ status: reply.status, body: reply.json }).toMatchObject({
    status: 200,
    body: { status: 'cancelled', stop_reason: 'cancelled', reward: null, started_at: null, error: null },
  });
  // Its entry is gone with it.
  expect(await service.queue.counts()).toEqual({ waiting: 0, leased: 0 });
  await startService({ parts: service });
  expect(await service.ended(traceId)).toMatchObject({ status: 'cancelled', started_at: null });
});

test('a running run is cancelled: the tool is aborted, nothing is evaluated, the trace says so', async () => {
  const service = await startService();
  const traceId = traceIdOf(await service.run(SLOW_RUN));
  await untilToolCalled(service, traceId);
  expect((await cancel(service, traceId)).status).toBe(200);
  expect(await service.ended(traceId)).toMatchObject({
    status: 'cancelled',
    stop_reason: 'cancelled',
    reward: null,
    evaluation: null,
    attempts: [{ attempt: 1, end: 'cancelled' }],
  });
});

test('a run that another process executes hears of its cancellation by the row', async () => {
  const service = await startService({ worker: false });
  await startService({ parts: service });
  const traceId = traceIdOf(await service.run(SLOW_RUN));
  await untilToolCalled(service, traceId);
  expect((await cancel(service, traceId)).status).toBe(200);
  expect(await service.ended(traceId)).toMatchObject({ status: 'cancelled' });
});

test('a finished run cannot be cancelled: 409 run_finished, with x-should-retry: false', async () => {
  const service = await startService();
  const traceId = traceIdOf(await service.run({}, { prefer: 'wait=60' }));
  const reply = await cancel(service, traceId);
  expect({ status: reply.status, retry: reply.headers['x-should-retry'], body: reply.json }).toEqual({
    status: 409,
    retry: 'false',
    body: {
      error: {
        message: `The run of trace ${traceId} is over: it is completed.`,
        type: 'conflict_error',
        param: null,
        code: 'run_finished',
      },
    },
  });
});

test('an attempt that was cancelled before it began writes nothing', async () => {
  const service = await startService({ worker: false });
  const traceId = traceIdOf(await service.run());
  await cancel(service, traceId);
  const recorder = createRecorder(service.store, traceId, 1);
  recorder.record({ type: 'turn.started', turn: 1, messages: [] });
  await expect(recorder.settled()).rejects.toThrow('is not the current one any more');
});
